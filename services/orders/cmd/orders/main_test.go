package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/services/servicetest"
)

func TestMain(m *testing.M) {
	// os/signal keeps the goroutine that it started for the first program that asked for signals.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.loop"))
}

var program = servicetest.Program{
	Run:     run,
	Host:    participant.Application("acme-org", "orders-app", "host"),
	Service: registry.Key{Zone: "app.acme-org.orders-app", Service: "acme.orders.v1.OrderService"},
	Data:    "ORDERS_DATA",
}

func TestRun_takesEverythingFromTheEnvironment(t *testing.T) {
	program.TakesEverythingFromTheEnvironment(t)
}

func TestRun_saysWhatIsMissing(t *testing.T) { program.SaysWhatIsMissing(t) }
