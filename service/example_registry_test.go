package service_test

import (
	"context"
	"log/slog"
	"os"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/participant"
)

// runningRegistry is what an example needs of a registry.
type runningRegistry struct {
	address, secret string
	close           func()
}

// exampleRegistry runs a registry over an etcd of its own, with one host machine. An example cannot fail but by panic.
func exampleRegistry() runningRegistry {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	slog.SetLogLoggerLevel(slog.LevelWarn)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "service-example-")
	must(err)
	etcd, err := embedded.Start(ctx, &configv1.EmbeddedEtcd{DataDir: dir}, slog.New(slog.DiscardHandler))
	must(err)
	r, err := openRegistry(ctx, etcd.Client())
	must(err)
	secret, err := r.store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, participant.Organization("acme-org", "orders-host"), "orders-host")
	must(err)
	for !machineKnown(r.watcher.View()) {
		select {
		case <-r.changed:
		case <-time.After(patience):
			panic("the machine never arrived")
		}
	}
	must(r.serve("127.0.0.1:0"))
	return runningRegistry{address: r.address, secret: secret, close: func() {
		r.close()
		etcd.Close()
		must(os.RemoveAll(dir))
	}}
}

func machineKnown(v *registry.View) bool {
	_, ok := v.Machine("orders-host")
	return ok
}
