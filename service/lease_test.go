package service_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/service"
)

func TestRun_grantsALostLeaseAnew(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t), service.TTL(2*time.Second))
	first := p.registered(t)
	conn := dial(t, first.Address)
	for range 2 {
		r.wait(t, "an instance", online)
		if _, err := r.etcd.Revoke(testContext(t), r.leaseOf(t)); err != nil {
			t.Fatal(err)
		}
		again := p.registered(t)
		if again.InstanceID != first.InstanceID || again.Address != first.Address {
			t.Errorf("registered again as %+v, was %+v", again, first)
		}
		r.wait(t, "the instance again", online)
		if _, err := find(t, conn, r.edgeSigner(t)); err != nil {
			t.Errorf("a call after the lease was lost: %v", err)
		}
	}
}

func TestRun_registersWithDescriptorsWhereTheContractIsForgotten(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t), service.TTL(2*time.Second))
	p.registered(t)
	// Everything is lost but the machines, as in an etcd that was set up anew.
	for _, prefix := range []string{"instances/", "hosts/", "services/", "contracts/", "functions/", "aliases/"} {
		if _, err := r.etcd.Delete(testContext(t), r.store.Prefix()+prefix, clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
	}
	p.registered(t)
	r.wait(t, "the instance and its service", func(v *registry.View) bool { return online(v) && v.Published(ordersKey) != nil })
	if _, err := r.store.Contract(testContext(t), r.watcher.View().Published(ordersKey).GetDigest()); err != nil {
		t.Errorf("the contract is not there: %v", err)
	}
}

func TestRun_waitsForTheRegistry(t *testing.T) {
	r := newRegistry(t)
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := held.Addr().String()
	held.Close()
	waiting := make(chan struct{}, 64)
	p := run(t, registerPlain, service.Registry(at), r.acmeHost(t),
		service.Logger(slog.New(notifyHandler{"not registered yet, trying again", waiting})))
	<-waiting
	<-waiting
	if err := r.serve(at); err != nil {
		t.Fatal(err)
	}
	p.registered(t)
	r.wait(t, "an instance", online)
}

func TestRun_stopsWhileItWaitsForTheRegistry(t *testing.T) {
	waiting := make(chan struct{}, 64)
	p := run(t, registerPlain, service.Registry("127.0.0.1:1"), service.Credentials("a", "b"),
		service.Logger(slog.New(notifyHandler{"not registered yet, trying again", waiting})))
	<-waiting
	p.stop()
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRun_outlivesTheRegistry(t *testing.T) {
	r := startRegistry(t)
	at := r.address
	trying := make(chan struct{}, 64)
	p := run(t, registerPlain, service.Registry(at), r.acmeHost(t), service.TTL(2*time.Second),
		service.Logger(slog.New(notifyHandler{"lease not renewed, trying again", trying})))
	conn := dial(t, p.registered(t).Address)
	signer := r.edgeSigner(t)
	r.wait(t, "an instance", online)
	r.halt()
	<-trying
	// The lease lapses meanwhile, and the process serves on with the keys that it has.
	r.wait(t, "the lapse", gone)
	if _, err := find(t, conn, signer); err != nil {
		t.Errorf("a call while the registry is away: %v", err)
	}
	if err := r.serve(at); err != nil {
		t.Fatal(err)
	}
	p.registered(t)
	r.wait(t, "the instance again", online)
}

func TestRun_leavesThoughTheRegistryIsAway(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t))
	p.registered(t)
	r.halt()
	p.stop()
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRun_leaseLostDuringTheFarewellStaysLost(t *testing.T) {
	r := startRegistry(t)
	g := newGatedOrders()
	p := run(t, g.register, service.Registry(r.address), r.acmeHost(t), service.TTL(time.Second), service.DrainTimeout(patience))
	conn, signer := dial(t, p.registered(t).Address), r.edgeSigner(t)
	answer := make(chan error, 1)
	go func() {
		_, err := find(t, conn, signer)
		answer <- err
	}()
	<-g.entered
	p.stop()
	r.wait(t, "draining", draining)
	if _, err := r.etcd.Revoke(testContext(t), r.leaseOf(t)); err != nil {
		t.Fatal(err)
	}
	r.wait(t, "gone", gone)
	close(g.release)
	if err := <-answer; err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	select {
	case again := <-p.registrations:
		t.Errorf("registered again while leaving: %+v", again)
	default:
	}
}

// loseAnswers lets registrations happen and loses the first answers, as a broken connection does.
func loseAnswers(first int) grpc.ServerOption {
	var lost atomic.Int64
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		response, err := next(ctx, request)
		if info.FullMethod == registryv1.RegistryService_Register_FullMethodName && err == nil && lost.Add(1) <= int64(first) {
			return nil, status.Error(codes.Unavailable, "the answer got lost")
		}
		return response, err
	})
}

func TestRun_aRegistrationWithoutAnswerLeavesOneInstance(t *testing.T) {
	r := startRegistry(t, loseAnswers(2))
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t))
	registration := p.registered(t)
	left, err := r.etcd.Get(testContext(t), r.store.Prefix()+"instances/", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) != 1 || !strings.HasSuffix(string(left.Kvs[0].Key), "/"+registration.InstanceID) {
		t.Errorf("instances %v, %v; want %s alone", left, err, registration.InstanceID)
	}
}

func TestRun_takesBackARegistrationWithoutAnswer(t *testing.T) {
	r := startRegistry(t, loseAnswers(1000))
	waiting := make(chan struct{}, 64)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t), service.TTL(300*time.Second),
		service.Logger(slog.New(notifyHandler{"not registered yet, trying again", waiting})))
	<-waiting
	r.wait(t, "the instance that nobody confirmed", online)
	p.stop()
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	// Long before the time to live is over.
	r.wait(t, "gone", gone)
}
