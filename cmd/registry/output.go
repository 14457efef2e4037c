package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

// output is how a command prints what it found.
type output struct{ format string }

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "table", "table, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) check() error {
	switch o.format {
	case "table", "json", "yaml":
		return nil
	}
	return fmt.Errorf("--output %q: want table, json or yaml", o.format)
}

// print writes a value in the chosen format, or the table.
func (o *output) print(to io.Writer, value any, table func(io.Writer)) error {
	if o.format == "table" {
		table(to)
		return nil
	}
	var raw []byte
	var err error
	if m, ok := value.(proto.Message); ok {
		raw, err = protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	} else {
		raw, err = json.Marshal(value)
	}
	if err != nil {
		return err
	}
	if o.format == "yaml" {
		if raw, err = yaml.JSONToYAML(raw); err != nil {
			return err
		}
		_, err = to.Write(raw)
		return err
	}
	// protojson varies its blanks on purpose; what programs compare should not.
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(to, b.String())
	return err
}

// table writes rows in columns. A dash stands for nothing, so that columns stay countable.
func table(to io.Writer, head []string, rows [][]string) {
	w := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// oneLine keeps a text from others in its cell: no line breaks, no control characters for the terminal, and none that
// turn the order of what is read.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
