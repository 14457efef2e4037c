package schemas_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// ajv is one Node process that judges documents by schemas, in ajv's strict mode (tools/clients/validate.mjs).
type ajv struct {
	in  *json.Encoder
	out *bufio.Reader
}

// startAjv starts the process, or says why the test is skipped. It ends with the test.
func startAjv(t *testing.T) *ajv {
	t.Helper()
	stack.NeedNode(t)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("clients", "validate.mjs"))
	cmd.Dir = filepath.Join(stack.Root(), "tools")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // an end by the test's context is no failure of it
	})
	return &ajv{in: json.NewEncoder(in), out: bufio.NewReader(out)}
}

// judge says of each document whether the schema accepts it. The error is ajv's of a schema that does not compile.
func (a *ajv) judge(schema []byte, documents ...[]byte) ([]bool, error) {
	texts := make([]string, len(documents))
	for i, d := range documents {
		texts[i] = string(d)
	}
	if err := a.in.Encode(map[string]any{"schema": json.RawMessage(schema), "documents": texts}); err != nil {
		return nil, err
	}
	line, err := a.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error    string
		Verdicts []bool
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Verdicts, nil
}
