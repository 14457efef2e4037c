// Command protoc-gen-sallyport is a protoc plugin. It checks the Sallyport annotations of the files it is given, and
// carries to runtime what compiled descriptors lose: comments, and the services that others inherit descriptions from.
//
// It runs under `buf generate` with `strategy: all`, so that inherited services are among the files it sees. Every
// problem is reported at once, as `file.proto:LINE:COL: function: problem`; the rules are those by which the registry
// judges a registration. For each Go package it writes `<file>.sallyport.go`, which registers the comments when the
// program starts.
//
// Options:
//
//	paths=source_relative   write beside the .proto file's path; paths=import, the default, by Go import path
//	module=PREFIX           remove the prefix from import paths
//	M<file>=PATH[;NAME]     the Go package of a file, instead of its go_package option
//	profiles=a,b            JSON profiles that the registry defines besides the built-in ones
package main

import (
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-sallyport:", err)
		os.Exit(1)
	}
}

// run answers one request. Problems in the files are part of the response, as the plugin protocol wants; the error is
// for a request that cannot be read or a response that cannot be written.
func run(in io.Reader, out, warnings io.Writer) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{}
	if err := proto.Unmarshal(raw, request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	raw, err = proto.Marshal(respond(request, warnings))
	if err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	if _, err := out.Write(raw); err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	return nil
}
