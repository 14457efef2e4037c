package service_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

// shop is an order service like any other: it knows nothing of tools.
type shop struct {
	ordersv1.UnimplementedOrderServiceServer
}

func (shop) FindById(ctx context.Context, r *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	caller, _ := participant.FromContext(ctx)
	return &ordersv1.FindByIdResponse{Order: &ordersv1.Order{OrderId: r.GetOrderId(), PlacedBy: caller.GetId()}}, nil
}

// A process serves an order service, registers it, and leaves again. In production the registry's address and the
// credentials come from the environment, and SIGTERM ends it.
func ExampleRun() {
	registry := exampleRegistry()
	defer registry.close()

	ctx, stop := context.WithCancel(context.Background())
	err := service.Run(ctx,
		func(s grpc.ServiceRegistrar) { ordersv1.RegisterOrderServiceServer(s, shop{}) },
		service.Registry(registry.address),
		service.Credentials("orders-host", registry.secret),
		service.Listen("127.0.0.1:0"),
		service.Expose("FindById", service.Title("Look Up"), service.ReadOnly()),
		service.OnRegister(func(r service.Registration) {
			for _, tool := range r.Tools {
				fmt.Println(tool.GetName(), tool.GetTitle())
			}
			stop()
		}),
	)
	fmt.Println("stopped:", err)
	// Output:
	// k6ps4n6j2tijztb4wu232oeq Orders Look Up
	// 5xnbtkd7dyzs3psfr0a1adors Orders Search
	// 9op7uf6tf0vk29g3b35fp5eto Orders Place Order
	// f431k4cv47bip6noqcogps9o5 Orders Cancel Order
	// 6wl6b9wdx5pu2zbghar83z0gt Orders List Products
	// stopped: <nil>
}

// A permission rule on a host names a tool by its hashed name, which anyone can compute.
func ExampleToolName() {
	fmt.Println(service.ToolName("app.acme-org.orders-app~com.acme.OrderService", "findById"))
	// Output: 5nwldv2gqljeygvmd1ywjl2z7
}
