package service_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

// childVariable makes this test program a service process of its own: it takes its options from the environment, says
// on stdout where it is registered and which call entered, and lets the calls go when its stdin says so.
const childVariable = "SALLYPORT_SERVICE_TEST_CHILD"

func child() int {
	g := newGatedOrders()
	go func() {
		for range g.entered {
			fmt.Println("entered")
		}
	}()
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			close(g.release)
		}
	}()
	err := service.Run(context.Background(),
		func(s grpc.ServiceRegistrar) { ordersv1.RegisterOrderServiceServer(s, g) },
		service.OnRegister(func(r service.Registration) { fmt.Println("registered", r.Address) }))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestRun_signalsEndAProcessGracefully(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			r := startRegistry(t)
			secret, err := r.store.CreateMachine(testContext(t), registryv1.MachineKind_MACHINE_KIND_HOST, participant.Organization("acme-org", "h"), "h")
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), childVariable+"=1", "SALLYPORT_LISTEN=127.0.0.1:0",
				"SALLYPORT_REGISTRY="+r.address, "SALLYPORT_CLIENT_ID=h", "SALLYPORT_CLIENT_SECRET="+secret)
			command.Stderr = os.Stderr
			stdin, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer command.Process.Kill()
			lines := bufio.NewScanner(stdout)
			address := strings.TrimPrefix(line(t, lines), "registered ")

			answer := make(chan error, 1)
			conn, signer := dial(t, address), r.edgeSigner(t)
			go func() {
				_, err := find(t, conn, signer)
				answer <- err
			}()
			if got := line(t, lines); got != "entered" {
				t.Fatalf("the child says %q", got)
			}
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			r.wait(t, "draining", draining)
			if _, err := io.WriteString(stdin, "go\n"); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; err != nil {
				t.Errorf("the running call was lost: %v", err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("the process ended with %v", err)
			}
			left, err := r.etcd.Get(testContext(t), r.store.Prefix()+"instances/", clientv3.WithPrefix())
			if err != nil || len(left.Kvs) != 0 {
				t.Errorf("the process left an instance behind: %v, %v", left, err)
			}
		})
	}
}

func line(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the child says no more: %v", lines.Err())
	}
	return lines.Text()
}
