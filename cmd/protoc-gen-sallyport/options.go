package main

import (
	"fmt"
	"go/token"
	"path"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/descriptorpb"
)

// options are what the plugin was told.
type options struct {
	sourceRelative bool
	module         string
	packages       map[string]string // file -> Go package, as go_package spells it
	profiles       map[string]bool
}

// parseOptions reads the parameter, `key=value` separated by commas. A list goes on over items without a key.
func parseOptions(parameter string) (*options, error) {
	o := &options{packages: map[string]string{}, profiles: map[string]bool{}}
	list := false
	for item := range strings.SplitSeq(parameter, ",") {
		key, value, keyed := strings.Cut(item, "=")
		switch {
		case item == "":
		case !keyed && list:
			o.profiles[item] = true
		case key == "profiles" && keyed:
			list = true
			if value != "" {
				o.profiles[value] = true
			}
			continue
		case key == "paths" && value == "source_relative":
			o.sourceRelative = true
		case key == "paths" && value == "import":
		case key == "module" && value != "":
			o.module = value
		case strings.HasPrefix(key, "M") && len(key) > 1 && keyed:
			o.packages[key[1:]] = value
		default:
			return nil, fmt.Errorf("option %q is unknown: give paths=source_relative, paths=import, module=PREFIX, M<file>=PATH or profiles=a,b", item)
		}
		if keyed {
			list = false
		}
	}
	if o.sourceRelative && o.module != "" {
		return nil, fmt.Errorf("module= has no meaning with paths=source_relative: give one of them")
	}
	return o, nil
}

// goFile says where the generated file of a proto file goes and in which Go package it is. It is false for a file that
// belongs to no Go package: other languages take the descriptors of `buf build`, which have their comments.
func (o *options) goFile(file *descriptorpb.FileDescriptorProto) (name, goPackage string, ok bool, err error) {
	declared, mapped := o.packages[file.GetName()]
	if !mapped {
		declared = file.GetOptions().GetGoPackage()
	}
	if declared == "" {
		return "", "", false, nil
	}
	importPath, goPackage, named := strings.Cut(declared, ";")
	if !named {
		goPackage = path.Base(importPath)
	}
	base := strings.TrimSuffix(file.GetName(), path.Ext(file.GetName())) + ".sallyport.go"
	if o.sourceRelative {
		return base, identifier(goPackage), true, nil
	}
	name = path.Join(importPath, path.Base(base))
	if o.module != "" {
		inside, found := strings.CutPrefix(name, strings.TrimSuffix(o.module, "/")+"/")
		if !found {
			return "", "", false, fmt.Errorf("%s: its Go package %s is not within module=%s", file.GetName(), importPath, o.module)
		}
		name = inside
	}
	return name, identifier(goPackage), true, nil
}

// identifier makes a Go package name of a path's last element, as protoc-gen-go does.
func identifier(s string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, s)
	if token.IsKeyword(name) || name == "" || unicode.IsDigit(rune(name[0])) {
		return "_" + name
	}
	return name
}
