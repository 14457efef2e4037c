// Command soaked serves sallyport.bench.v1.SoakService as a registered service, as a service team would run it. It
// takes everything from the environment, in the variables of package service.
package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/sallyport-dev/sallyport/bench/gen/sallyport/bench/v1"
	"github.com/sallyport-dev/sallyport/bench/process"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/service"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	register := func(s grpc.ServiceRegistrar) { benchv1.RegisterSoakServiceServer(s, &server{}) }
	if err := service.Run(context.Background(), register); err != nil {
		slog.Error("soaked ended", "error", err)
		os.Exit(1)
	}
}

type server struct {
	benchv1.UnimplementedSoakServiceServer
}

func (*server) Wait(ctx context.Context, r *benchv1.WaitRequest) (*benchv1.WaitResponse, error) {
	if err := pause(ctx, r.GetDuration().AsDuration()); err != nil {
		return nil, err
	}
	return &benchv1.WaitResponse{Tag: r.GetTag()}, nil
}

func (*server) Fill(_ context.Context, r *benchv1.FillRequest) (*benchv1.FillResponse, error) {
	return &benchv1.FillResponse{Tag: r.GetTag(), Text: strings.Repeat(r.GetTag(), int(r.GetTimes()))}, nil
}

func (*server) Count(r *benchv1.CountRequest, stream grpc.ServerStreamingServer[benchv1.CountResponse]) error {
	for step := range r.GetSteps() {
		if err := pause(stream.Context(), r.GetEach().AsDuration()); err != nil {
			return err
		}
		if err := stream.Send(&benchv1.CountResponse{News: &benchv1.CountResponse_Progress{Progress: &toolv1.Progress{
			Progress: float64(step + 1), Total: proto.Float64(float64(r.GetSteps())), Message: "counting",
		}}}); err != nil {
			return err
		}
	}
	return stream.Send(&benchv1.CountResponse{News: &benchv1.CountResponse_Counted{
		Counted: &benchv1.Counted{Tag: r.GetTag(), Steps: r.GetSteps()},
	}})
}

// pause waits, or until the caller leaves.
func pause(ctx context.Context, d time.Duration) error {
	if process.Pause(ctx, d) != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}
