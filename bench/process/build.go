package process

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Module is the path of the module that the working directory must be in.
const Module = "github.com/sallyport-dev/sallyport"

// Build compiles main packages into a folder; arguments are those of `go build`, the packages among them. What only
// debuggers read is left out: it takes a good part of the time to link.
func Build(ctx context.Context, out string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-ldflags=-w", "-o", out + string(filepath.Separator)}, arguments...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
}
