package lifecycle

import (
	"errors"
	"os"
	"sync"
)

// File is a file that is appended to and can be opened anew, so that whoever rotates logs may move it away. It is safe
// for concurrent use: each write goes into one file, whole.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// OpenFile opens the file at a path, or makes one that only its owner reads and writes.
func OpenFile(path string) (*File, error) {
	file, err := appendTo(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, file: file}, nil
}

func appendTo(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// Write appends to the file.
func (f *File) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return 0, os.ErrClosed
	}
	return f.file.Write(b)
}

// Reopen goes on in whatever file is at the path now, or makes one. After an error it goes on where it was.
func (f *File) Reopen() error {
	next, err := appendTo(f.path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.file
	if last == nil {
		return errors.Join(os.ErrClosed, next.Close())
	}
	f.file = next
	return last.Close()
}

// Close closes the file. Nothing can be written afterwards.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	last := f.file
	f.file = nil
	return last.Close()
}
