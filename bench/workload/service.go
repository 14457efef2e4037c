package workload

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
)

// service implements sallyport.bench.v1.BenchService.
type service struct {
	benchv1.UnimplementedBenchServiceServer
}

// Register puts the service on a gRPC server.
func Register(registrar grpc.ServiceRegistrar) {
	benchv1.RegisterBenchServiceServer(registrar, service{})
}

// GetItem implements BenchService.
func (service) GetItem(_ context.Context, request *benchv1.GetItemRequest) (*benchv1.GetItemResponse, error) {
	return answer(request), nil
}

// answer makes the response of a request. Its parts are shared, so that the service itself costs little: read only.
func answer(request *benchv1.GetItemRequest) *benchv1.GetItemResponse {
	n := min(int(request.GetRelated()), len(others))
	return &benchv1.GetItemResponse{Item: item(request.GetId()), Related: others[:n:n]}
}

func item(id string) *benchv1.Item {
	return &benchv1.Item{
		Id: id, Title: "Sencha from the first harvest, 100 g", Description: description, Status: benchv1.Status_STATUS_ACTIVE,
		Version: 9007199254741993, Price: 12.75, CreatedAt: created, UpdatedAt: updated, Tags: tags, Labels: labels, Owner: owner,
		Stock: 1240, AvailableAt: available, Organic: true,
	}
}

const description = `Steamed, not roasted: "green" in the cup, and best at 70 °C, as long as it is fresh.` + "\n" + `Keep it dry.`

var (
	created   = stamp(2025, 11, 12)
	updated   = stamp(2026, 6, 30)
	available = stamp(2026, 8, 1)
	tags      = []string{"tea", "green", "sencha", "japan"}
	labels    = map[string]string{"region": "eu-west", "season": "spring", "channel": "web"}
	owner     = &benchv1.Owner{Name: "Maria Lindqvist", Email: "maria@shop.example", OnCall: true, Team: "Assortment"}

	others = func() (all []*benchv1.Item) {
		for i := range 100 {
			all = append(all, item(fmt.Sprintf("other-%02d", i)))
		}
		return all
	}()
)
