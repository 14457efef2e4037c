package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) {
	// os/signal keeps the goroutine that it started for the first program that asked for signals.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.loop"))
}

func TestRun_takesEverythingFromTheEnvironment(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := held.Addr().(*net.TCPAddr)
	held.Close()

	registryContext, stopRegistry := context.WithCancel(ctx)
	ready, registryEnded := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		registryEnded <- server.Run(registryContext, &configv1.RegistryConfig{
			Store:      &configv1.RegistryConfig_Embedded{Embedded: &configv1.EmbeddedEtcd{DataDir: filepath.Join(t.TempDir(), "etcd")}},
			GrpcListen: "127.0.0.1:0",
			Addresses:  []*configv1.ZoneAddresses{{Zone: "*", Ranges: []string{"127.0.0.0/8"}, Ports: []uint32{uint32(at.Port)}}},
		}, nil, func(a server.Addresses) { ready <- a })
	}()
	var where server.Addresses
	select {
	case where = <-ready:
	case err := <-registryEnded:
		t.Fatal(err)
	}
	etcd, err := embedded.Connect(where.Etcd[0])
	if err != nil {
		t.Fatal(err)
	}
	store := registry.NewStore(etcd, "")
	secret, err := store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, participant.Application("sallyport-dev", "conformance", "host"), "host")
	if err != nil {
		t.Fatal(err)
	}

	online := make(chan struct{}, 1)
	key := registry.Key{Zone: "app.sallyport-dev.conformance", Service: "sallyport.conformance.v1.ConformanceService"}
	watcher := store.Watch(ctx, registry.WatchOptions{OnChange: func(v *registry.View) {
		if v.Online(key) {
			select {
			case online <- struct{}{}:
			default:
			}
		}
	}})
	for name, value := range map[string]string{
		"SALLYPORT_REGISTRY": where.GRPC, "SALLYPORT_CLIENT_ID": "host", "SALLYPORT_CLIENT_SECRET": secret,
		"SALLYPORT_LISTEN": at.String(),
	} {
		t.Setenv(name, value)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(running) }()
	select {
	case <-online:
	case err := <-ended:
		t.Fatalf("run: %v", err)
	case <-ctx.Done():
		t.Fatal("the service never came online")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	watcher.Close()
	etcd.Close()
	stopRegistry()
	if err := <-registryEnded; err != nil {
		t.Errorf("registry: %v", err)
	}
}

func TestRun_saysWhatIsMissing(t *testing.T) {
	for _, name := range []string{"SALLYPORT_REGISTRY", "SALLYPORT_CLIENT_ID", "SALLYPORT_CLIENT_SECRET"} {
		t.Setenv(name, "")
	}
	if err := run(context.Background()); err == nil {
		t.Error("run without a registry")
	}
}
