package config

import (
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// faults finds what protoyaml takes without a word: a key that stands twice in one mapping, of which the last would count
// or whose lists would be merged, and a key without a value, which would count as absent.
func faults(name string, data []byte, md protoreflect.MessageDescriptor) error {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || document.Kind != yaml.DocumentNode {
		return nil // protoyaml says what is wrong, or there is nothing
	}
	f := finder{name: name}
	for _, root := range document.Content {
		f.walk(root, md, "")
	}
	return errors.Join(f.found...)
}

type finder struct {
	name  string
	found []error
}

func (f *finder) report(at *yaml.Node, format string, args ...any) {
	f.found = append(f.found, fmt.Errorf("%s:%d:%d %s", f.name, at.Line, at.Column, fmt.Sprintf(format, args...)))
}

// walk judges what stands at a path. The descriptor is that of its messages, nil where it has none or is not known.
func (f *finder) walk(node *yaml.Node, md protoreflect.MessageDescriptor, path string) {
	switch node.Kind {
	case yaml.SequenceNode:
		for i, item := range node.Content {
			at := path + "[" + strconv.Itoa(i) + "]"
			if item.ShortTag() == "!!null" {
				f.report(item, "%s has no value: write one, or leave the item out", at)
			}
			f.walk(item, md, at)
		}
	case yaml.MappingNode:
		lines := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			at := key.Value
			if path != "" {
				at = path + "." + at
			}
			id, inside := field(md, key.Value)
			if line, twice := lines[id]; twice {
				f.report(key, "%s stands twice, first on line %d: remove one of them", at, line)
			} else {
				lines[id] = key.Line
			}
			if value.ShortTag() == "!!null" {
				f.report(key, "%s has no value: write one, write {} for a block with nothing set, or leave the key out", at)
			}
			f.walk(value, inside, at)
		}
	}
}

// field gives one spelling for all of a key, and the descriptor of the messages in its value.
func field(md protoreflect.MessageDescriptor, key string) (string, protoreflect.MessageDescriptor) {
	if md == nil || md.IsMapEntry() {
		return key, nil
	}
	fd := md.Fields().ByJSONName(key)
	if fd == nil {
		fd = md.Fields().ByTextName(key)
	}
	if fd == nil {
		return key, nil
	}
	return string(fd.Name()), fd.Message()
}
