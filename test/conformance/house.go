package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

const (
	organization = "sallyport-dev"
	application  = "conformance"
	zone         = "app." + organization + "." + application
)

// house is the running platform: a registry with an etcd inside it, the conformance service and an edge.
type house struct {
	url       string             // the edge's endpoint
	processes []*process.Process // in the order of their start
}

// startHouse builds and starts everything on loopback, on ports that are free. What the processes keep and log goes
// to dir. When it returns, the edge lists the conformance service's tools to callers without credentials.
func startHouse(ctx context.Context, root, dir string) (_ *house, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/registry", "./cmd/edge", "./services/conformance/cmd/conformance")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	h := new(house)
	defer func() {
		if err != nil {
			_ = h.stop() // what went wrong is said already
		}
	}()

	// Registry and edge must be told the service's port, so that it is picked before they start.
	at, port, err := pick()
	if err != nil {
		return nil, err
	}
	addresses := "addresses:\n  - zone: " + zone + "\n    ranges: [127.0.0.0/8]\n    ports: [" + port + "]\n"
	etcd, grpc, err := h.startRegistry(ctx, dir, bin+"registry", addresses)
	if err != nil {
		return nil, err
	}
	secret, err := createMachine(ctx, dir, bin+"registry", etcd)
	if err != nil {
		return nil, err
	}
	service, err := h.start(dir, []string{
		"SALLYPORT_REGISTRY=" + grpc, "SALLYPORT_LISTEN=" + at, "SALLYPORT_CLIENT_ID=conformance-host", "SALLYPORT_CLIENT_SECRET=" + secret,
	}, bin+"conformance")
	if err != nil {
		return nil, err
	}
	if err := service.Await(ctx, map[string]any{"registered": nil}); err != nil {
		return nil, err
	}
	if err := h.startEdge(ctx, dir, bin+"edge", etcd, addresses); err != nil {
		return nil, err
	}
	return h, h.awaitTools(ctx)
}

// pick gives a loopback address that nothing listens on.
func pick() (address, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	address = l.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	return address, port, l.Close()
}

// start runs a binary whose log goes to a file in dir.
func (h *house) start(dir string, env []string, binary string, args ...string) (*process.Process, error) {
	p, err := process.Launch(binary, process.Options{Dir: dir, Env: env, BySignal: true}, args...)
	if err == nil {
		h.processes = append(h.processes, p)
	}
	return p, err
}

func (h *house) startRegistry(ctx context.Context, dir, binary, addresses string) (etcd, grpc string, err error) {
	config, err := write(dir, "registry.yaml", "embedded: {data_dir: "+quote(filepath.Join(dir, "etcd"))+"}\ngrpc_listen: 127.0.0.1:0\n"+addresses)
	if err != nil {
		return "", "", err
	}
	p, err := h.start(dir, nil, binary, "serve", "--config", config)
	if err != nil {
		return "", "", err
	}
	var where struct {
		GRPC string
		Etcd []string
	}
	if err := p.Await(ctx, map[string]any{"registry is ready": &where}); err != nil {
		return "", "", err
	}
	if len(where.Etcd) == 0 || where.GRPC == "" {
		return "", "", fmt.Errorf("the registry does not say where it is: %+v", where)
	}
	return where.Etcd[0], where.GRPC, nil
}

// createMachine makes the host machine under which the service registers, and gives its secret.
func createMachine(ctx context.Context, dir, binary, etcd string) (secret string, err error) {
	config, err := write(dir, "machines.yaml", "etcd: {endpoints: ["+quote(etcd)+"]}\ngrpc_listen: 127.0.0.1:0\n")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, binary, "machine", "create", "conformance-host", "--kind", "host",
		"--organization", organization, "--config", config, "-o", "json").Output()
	if err != nil {
		return "", fmt.Errorf("create the host machine: %w", err)
	}
	var machine struct{ Secret string }
	if err := json.Unmarshal(out, &machine); err != nil || machine.Secret == "" {
		return "", errors.Join(errors.New("create the host machine: no secret was printed"), err)
	}
	return machine.Secret, nil
}

// startEdge starts an edge that lets callers without credentials into the conformance zone. The suite counts progress
// notifications that come faster than an edge sends them on by default.
func (h *house) startEdge(ctx context.Context, dir, binary, etcd, addresses string) error {
	config, err := write(dir, "edge.yaml", "etcd: {endpoints: ["+quote(etcd)+"]}\nlistener: {address: 127.0.0.1:0}\n"+
		"anonymous_zones: ["+zone+"]\nprogress_interval: 0.001s\n"+addresses)
	if err != nil {
		return err
	}
	p, err := h.start(dir, nil, binary, "serve", "--config", config)
	if err != nil {
		return err
	}
	var at struct{ Address string }
	if err := p.Await(ctx, map[string]any{"edge listens": &at}); err != nil {
		return err
	}
	h.url = "http://" + at.Address + "/mcp"
	return nil
}

// awaitTools asks until the edge lists tools: an edge that listens may not have followed etcd yet.
func (h *house) awaitTools(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		listed, err := h.listsTools(ctx)
		if listed {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			edge := h.processes[len(h.processes)-1]
			return fmt.Errorf("the edge lists no tools: %w\n%s", errors.Join(ctx.Err(), err), edge.Tail())
		}
	}
}

func (h *house) listsTools(ctx context.Context) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url,
		bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	var listed struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&listed); err != nil {
		return false, err
	}
	return len(listed.Result.Tools) > 0, nil
}

// stop ends the processes, the last one first, and waits for each. One that has ended by itself is an error.
func (h *house) stop() (err error) {
	for i := len(h.processes) - 1; i >= 0; i-- {
		p := h.processes[i]
		if gone := p.Alive(); gone != nil {
			err = errors.Join(err, gone)
			continue
		}
		err = errors.Join(err, p.Stop())
	}
	return err
}

func write(dir, name, text string) (path string, err error) {
	path = filepath.Join(dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// quote makes a YAML string of any text: JSON's are YAML's.
func quote(text string) string {
	b, _ := json.Marshal(text) // a string can be marshalled
	return string(b)
}
