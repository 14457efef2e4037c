// Command registry runs the registry, and asks and administers one.
//
//	registry serve --config registry.yaml
//	registry get zones|services|instances|tools
//	registry describe tool NAME
//	registry register --descriptor-set set.binpb --address host:port --zone Z --expose pkg.Service/Method
//	registry name ZONE~SERVICE/METHOD
//	registry organization|application|user|machine|delegate|role create|list|disable|enable|remove …
//	registry key list|rotate
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		stop()
		os.Exit(1)
	}
}
