// Package servicetest runs the programs of the services that ship with the platform, as their tests need it: against a
// registry of their own, with everything that a program is told in its environment.
//
// In comes a program's run function and what it should register; a real registry with a real etcd stands behind it. The
// package knows nothing of what the services do.
package servicetest

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
)

// patience bounds every wait. Whoever reaches it has failed.
const patience = 60 * time.Second

// Program is a service's program.
type Program struct {
	// Run is the program, which ends well when its context does.
	Run func(context.Context) error
	// Host is the machine under which it registers, and Service what it registers.
	Host    *participant.Participant
	Service registry.Key
	// Data is the variable that names the program's file; blank for one that keeps none.
	Data string
}

// TakesEverythingFromTheEnvironment runs the program until its service is online, and ends it.
func (p *Program) TakesEverythingFromTheEnvironment(t *testing.T) {
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
	secret, err := store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, p.Host, "host")
	if err != nil {
		t.Fatal(err)
	}

	online := make(chan struct{}, 1)
	watcher := store.Watch(ctx, registry.WatchOptions{OnChange: func(v *registry.View) {
		if v.Online(p.Service) {
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
	p.keepData(t)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(running) }()
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

// SaysWhatIsMissing runs the program without a registry, and one that keeps data on a directory as its file.
func (p *Program) SaysWhatIsMissing(t *testing.T) {
	p.keepData(t)
	for _, name := range []string{"SALLYPORT_REGISTRY", "SALLYPORT_CLIENT_ID", "SALLYPORT_CLIENT_SECRET"} {
		t.Setenv(name, "")
	}
	if err := p.Run(context.Background()); err == nil {
		t.Error("run without a registry")
	}
	if p.Data == "" {
		return
	}
	t.Setenv(p.Data, t.TempDir())
	if err := p.Run(context.Background()); err == nil {
		t.Error("run on a directory as its file")
	}
}

// keepData gives the program a file of its own, where it keeps one.
func (p *Program) keepData(t *testing.T) {
	if p.Data != "" {
		t.Setenv(p.Data, filepath.Join(t.TempDir(), "data.db"))
	}
}
