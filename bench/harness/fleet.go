package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/sallyport-dev/sallyport/bench/process"
	"github.com/sallyport-dev/sallyport/bench/workload"
)

// The targets' names.
const (
	Edge     = "edge"
	HTTPEcho = "httpecho"
	GRPCRaw  = "grpcraw"
	GRPCGen  = "grpcgen"
	Through  = "through"
	Gateway  = "gateway"
	GoSDK    = "gosdk"
)

// Fleet is every target, running and idle until it is asked. It is used from one goroutine.
type Fleet struct {
	dir       string
	placement placement
	facts     facts
	targets   map[string]*target
	micro     *process.Process
	// processes are in the order of their starts: the back-end is the first.
	processes []*process.Process
	loads     []interface{ close() }
}

// facts are what the back-end says of itself.
type facts struct {
	Etcd         string `json:"etcd"`
	Port         uint32 `json:"port"`
	OpenPort     uint32 `json:"open_port"`
	Plain        string `json:"plain"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// target is a process that is measured.
type target struct {
	process *process.Process
	load    load
}

// Start builds the programs, starts them, and sees that every target answers every question rightly. The working
// directory must be in the module. Whoever has a Fleet closes it; dir, an empty folder, is the caller's to remove.
func Start(ctx context.Context, dir string) (*Fleet, error) {
	// Compiling may use every processor, so that it comes before the process takes its place.
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	p, err := place()
	if err != nil {
		return nil, err
	}
	f := &Fleet{dir: dir, placement: p, targets: map[string]*target{}}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Pinned says whether targets have a processor of their own. Without, figures mean little.
func (f *Fleet) Pinned() bool { return f.placement.pinned }

// Close ends every process, and waits until all have.
func (f *Fleet) Close() error {
	var errs []error
	for _, l := range f.loads {
		l.close()
	}
	for i := len(f.processes) - 1; i >= 0; i-- {
		errs = append(errs, f.processes[i].Stop())
	}
	return errors.Join(errs...)
}

func (f *Fleet) start(ctx context.Context) error {
	backend, err := f.launch(f.placement.rest, "backend", "-dir", filepath.Join(f.dir, "etcd"))
	if err != nil {
		return err
	}
	if err := backend.Hear(ctx, &f.facts); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{f.startEdge, f.startEcho, f.startRaw, f.startGenerated, f.startThrough, f.startGateway, f.startGoSDK} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	if f.micro, err = f.launch(f.placement.target, "micro"); err != nil {
		return err
	}
	return f.micro.Hear(ctx, new(struct{}))
}

// build compiles the product's edge and the targets.
func build(ctx context.Context, dir string) error {
	packages := []string{process.Module + "/cmd/edge"}
	for _, name := range []string{"backend", "gateway", "gosdk", "grpcraw", "httpecho", "micro", "through"} {
		packages = append(packages, process.Module+"/bench/target/"+name)
	}
	return process.Build(ctx, dir, packages...)
}

// launch starts a binary on a processor. Everything has one processor and so runs with GOMAXPROCS=1.
func (f *Fleet) launch(cpu int, binary string, args ...string) (*process.Process, error) {
	return f.launchAs(cpu, false, binary, args...)
}

func (f *Fleet) launchAs(cpu int, bySignal bool, binary string, args ...string) (*process.Process, error) {
	p, err := process.Launch(filepath.Join(f.dir, binary), process.Options{
		Dir: f.dir, Env: []string{"GOMAXPROCS=1"}, BySignal: bySignal,
		Start: func(cmd *exec.Cmd) error { return f.placement.start(cmd, cpu) },
	}, args...)
	if err == nil {
		f.processes = append(f.processes, p)
	}
	return p, err
}

// add launches a target that serves HTTP and says where.
func (f *Fleet) add(ctx context.Context, name string, args ...string) (*httpLoad, error) {
	p, err := f.launch(f.placement.target, name, args...)
	if err != nil {
		return nil, err
	}
	var at struct{ Address string }
	if err := p.Hear(ctx, &at); err != nil {
		return nil, err
	}
	return f.reach(name, p, at.Address)
}

func (f *Fleet) reach(name string, p *process.Process, address string) (*httpLoad, error) {
	l, err := newHTTPLoad(address)
	if err != nil {
		return nil, err
	}
	f.loads = append(f.loads, l)
	f.targets[name] = &target{p, l}
	return l, nil
}

// config writes the edge's configuration.
func (f *Fleet) config() (path string, err error) {
	path = filepath.Join(f.dir, "edge.yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil, `etcd: {endpoints: [%q]}
listener: {address: "127.0.0.1:0"}
page_size: %d
addresses:
  - {zone: %s, ranges: ["127.0.0.0/8"], ports: [%d]}
  - {zone: %s, ranges: ["127.0.0.0/8"], ports: [%d]}
anonymous_zones: [%[5]s]
`, f.facts.Etcd, 2*workload.ListedTools, workload.Zone, f.facts.Port, workload.OpenZone, f.facts.OpenPort), 0o600)
}

func (f *Fleet) startEdge(ctx context.Context) error {
	l, err := f.launchEdge(ctx, Edge, "edge")
	if err != nil {
		return err
	}
	return f.prepareEdge(ctx, l)
}

// launchEdge starts the product's command and waits until it serves.
func (f *Fleet) launchEdge(ctx context.Context, name, binary string) (*httpLoad, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	p, err := f.launchAs(f.placement.target, true, binary, "serve", "--config", config)
	if err != nil {
		return nil, err
	}
	var at struct{ Address string }
	if err := p.Await(ctx, map[string]any{"edge listens": &at, "edge is ready": nil}); err != nil {
		return nil, err
	}
	return f.reach(name, p, at.Address)
}

func (f *Fleet) prepareEdge(ctx context.Context, l *httpLoad) error {
	headers := mcpHeaders + "clientId: " + f.facts.ClientID + "\r\nclientSecret: " + f.facts.ClientSecret + "\r\n"
	for _, s := range []Scenario{Small, Large} {
		if err := l.prepare(s, askMCP(s, headers), judgeCall(s)); err != nil {
			return fmt.Errorf("edge, %s: %w", s, err)
		}
	}
	if err := l.prepare(SmallOpen, askMCP(SmallOpen, mcpHeaders), judgeCall(SmallOpen)); err != nil {
		return fmt.Errorf("edge, %s: %w", SmallOpen, err)
	}
	for _, s := range []Scenario{List, ListSpelled} {
		if err := l.prepare(s, askMCP(s, headers), judgeList); err != nil {
			return fmt.Errorf("edge, %s: %w", s, err)
		}
	}
	return context.Cause(ctx)
}

// size is how many bytes the edge answers.
func (f *Fleet) size(s Scenario) int { return f.targets[Edge].load.(*httpLoad).questions[s][0].length }

// startEcho starts the floor, which answers as many bytes as the edge did.
func (f *Fleet) startEcho(ctx context.Context) error {
	small, large := f.size(Small), f.size(Large)
	args := []string{"-small", strconv.Itoa(small), "-large", strconv.Itoa(large)}
	listed := map[Scenario][]byte{}
	for s, flag := range map[Scenario]string{List: "-list", ListSpelled: "-spelled"} {
		listed[s] = f.targets[Edge].load.(*httpLoad).questions[s][0].whole
		file := filepath.Join(f.dir, flag[1:]+".json")
		if err := os.WriteFile(file, listed[s], 0o600); err != nil {
			return err
		}
		args = append(args, flag, file)
	}
	l, err := f.add(ctx, HTTPEcho, args...)
	if err != nil {
		return err
	}
	for s, size := range map[Scenario]int{Small: small, Large: large} {
		if err := l.prepare(s, askEcho(s), judgeEcho(s, size)); err != nil {
			return fmt.Errorf("httpecho, %s: %w", s, err)
		}
	}
	for s, want := range listed {
		if err := l.prepare(s, askEcho(s), func(_ int, body []byte) error {
			if !bytes.Equal(body, want) {
				return fmt.Errorf("httpecho, %s: other bytes than the edge's", s)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) startRaw(ctx context.Context) error { return f.startClient(ctx, GRPCRaw) }

func (f *Fleet) startGenerated(ctx context.Context) error {
	return f.startClient(ctx, GRPCGen, "-generated")
}

// startClient starts a target that makes its calls itself.
func (f *Fleet) startClient(ctx context.Context, name string, args ...string) error {
	p, err := f.launch(f.placement.target, "grpcraw", append(args, "-backend", f.facts.Plain)...)
	if err != nil {
		return err
	}
	var at struct{ Address string }
	if err := p.Hear(ctx, &at); err != nil {
		return err
	}
	c, err := dial(at.Address)
	if err != nil {
		return err
	}
	f.loads = append(f.loads, c)
	f.targets[name] = &target{p, &remoteLoad{c}}
	return nil
}

func (f *Fleet) startThrough(ctx context.Context) error {
	l, err := f.add(ctx, Through, "-backend", f.facts.Plain, "-small", strconv.Itoa(f.size(Small)), "-large", strconv.Itoa(f.size(Large)))
	if err != nil {
		return err
	}
	for _, s := range []Scenario{Small, Large} {
		if err := l.prepare(s, askThrough(s), judgeThrough(s, f.size(s))); err != nil {
			return fmt.Errorf("through, %s: %w", s, err)
		}
	}
	return nil
}

func (f *Fleet) startGateway(ctx context.Context) error {
	l, err := f.add(ctx, Gateway, "-backend", f.facts.Plain)
	if err != nil {
		return err
	}
	for _, s := range []Scenario{Small, Large} {
		if err := l.prepare(s, askREST(s), judgeREST(s)); err != nil {
			return fmt.Errorf("gateway, %s: %w", s, err)
		}
	}
	return nil
}

func (f *Fleet) startGoSDK(ctx context.Context) error {
	l, err := f.add(ctx, GoSDK, "-backend", f.facts.Plain, "-tool", workload.Alias)
	if err != nil {
		return err
	}
	for _, s := range []Scenario{Small, Large} {
		if err := l.prepare(s, askMCP(s, mcpHeaders), judgeCall(s)); err != nil {
			return fmt.Errorf("gosdk, %s: %w", s, err)
		}
	}
	return nil
}
