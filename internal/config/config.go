// Package config reads the configuration of edge and registry: a YAML file into a protobuf message of
// sallyport.config.v1, checked against the rules in its proto.
//
// In comes the path of a file and an empty message, out comes the filled message or an error that names, for every
// problem at once, the file, the line and the field. The package knows neither edge nor registry: which message it
// fills is the caller's business. Flags that override a field are the command's.
package config

import (
	"errors"
	"fmt"
	"os"

	"buf.build/go/protovalidate"
	"buf.build/go/protoyaml"
	"google.golang.org/protobuf/proto"
)

// Load reads the YAML file at path into msg and checks it with the protovalidate rules of msg's type.
//
// Fields may be spelled as in the proto (`grpc_listen`) or in lower camel case. An unknown field, a key that
// stands twice or has no value, a value of the wrong type and a broken rule are errors that name file, line and field; all
// that are found are reported together. On an error the content of msg is unspecified.
func Load(path string, msg proto.Message) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data, msg)
}

// Parse is Load for bytes that are already read; name stands for the file in errors.
func Parse(name string, data []byte, msg proto.Message) error {
	options := protoyaml.UnmarshalOptions{Path: name, Validator: rules{}}
	found := faults(name, data, msg.ProtoReflect().Descriptor())
	if err := errors.Join(found, options.Unmarshal(data, msg)); err != nil {
		return fmt.Errorf("configuration %s: %w", name, err)
	}
	// An empty document is a message without fields, which the options above do not judge.
	if err := protovalidate.Validate(msg); err != nil {
		return fmt.Errorf("configuration %s: %w", name, err)
	}
	return nil
}

// rules judges with protovalidate as protoyaml wants it, so that a broken rule is reported at its line.
type rules struct{}

func (rules) Validate(msg proto.Message) error { return protovalidate.Validate(msg) }
