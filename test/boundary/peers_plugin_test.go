package boundary_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// buildPlugin builds our protoc plugin into a folder.
func buildPlugin(folder string) (binary string, err error) {
	binary = filepath.Join(folder, "protoc-gen-sallyport")
	const program = "github.com/sallyport-dev/sallyport/cmd/protoc-gen-sallyport"
	if out, err := exec.Command("go", "build", "-o", binary, program).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return binary, nil
}

// plugin runs our protoc plugin several times over the contract, to generate code for these files. It must not fail;
// problems in the files are in its answers.
func (p *peers) plugin(t *testing.T, times int, files ...string) []*pluginpb.CodeGeneratorResponse {
	t.Helper()
	binary, err := p.pluginBinary()
	if err != nil {
		t.Fatal(err)
	}
	var parameters []string
	for path := range peersTexts() {
		folder := filepath.Dir(path)
		parameters = append(parameters, "M"+path+"=example.com/"+folder+";"+strings.ReplaceAll(folder, "/", ""))
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		ProtoFile: schematest.WholeSet(p.files).GetFile(), FileToGenerate: files, Parameter: proto.String(strings.Join(parameters, ",")),
	})
	if err != nil {
		t.Fatal(err)
	}
	responses := make([]*pluginpb.CodeGeneratorResponse, times)
	for i := range responses {
		command := exec.CommandContext(t.Context(), binary)
		command.Stdin = bytes.NewReader(request)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("run the plugin: %v", err)
		}
		responses[i] = new(pluginpb.CodeGeneratorResponse)
		if err := proto.Unmarshal(out, responses[i]); err != nil {
			t.Fatal(err)
		}
	}
	return responses
}
