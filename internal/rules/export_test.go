package rules

import "google.golang.org/protobuf/reflect/protoreflect"

// Shared reports whether a file has a validator at present.
func Shared(file protoreflect.FileDescriptor) bool {
	mutex.Lock()
	defer mutex.Unlock()
	_, found := byFile[file]
	return found
}

// SameValidator reports whether two share one.
func SameValidator(a, b *Rules) bool { return a.validator == b.validator }
