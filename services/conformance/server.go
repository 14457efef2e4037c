package conformance

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	conformancev1 "github.com/sallyport-dev/sallyport/gen/sallyport/conformance/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// pause lies between two signs of progress: the suite describes its tool with about 50 ms.
const pause = 50 * time.Millisecond

// Server implements sallyport.conformance.v1.ConformanceService. It is safe for concurrent use.
type Server struct {
	conformancev1.UnimplementedConformanceServiceServer
	logger *slog.Logger
}

// New makes the service. What its tools log goes to logger, never to a caller.
func New(logger *slog.Logger) *Server { return &Server{logger: logger} }

// Register puts the service on a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	conformancev1.RegisterConformanceServiceServer(registrar, s)
}

// SimpleText answers with one block of text.
func (s *Server) SimpleText(context.Context, *conformancev1.SimpleTextRequest) (*conformancev1.SimpleTextResponse, error) {
	return &conformancev1.SimpleTextResponse{Content: []*toolv1.Content{text("This is a simple text response for testing.")}}, nil
}

// ImageContent answers with one picture.
func (s *Server) ImageContent(context.Context, *conformancev1.ImageContentRequest) (*conformancev1.ImageContentResponse, error) {
	return &conformancev1.ImageContentResponse{Content: []*toolv1.Content{pictureBlock()}}, nil
}

// AudioContent answers with one sound.
func (s *Server) AudioContent(context.Context, *conformancev1.AudioContentRequest) (*conformancev1.AudioContentResponse, error) {
	return &conformancev1.AudioContentResponse{Content: []*toolv1.Content{{
		Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{Data: sound, MimeType: "audio/wav"}},
	}}}, nil
}

// EmbeddedResource answers with one resource and its text.
func (s *Server) EmbeddedResource(context.Context, *conformancev1.EmbeddedResourceRequest) (*conformancev1.EmbeddedResourceResponse, error) {
	return &conformancev1.EmbeddedResourceResponse{Content: []*toolv1.Content{
		resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
	}}, nil
}

// MultipleContentTypes answers with a text, a picture and a resource.
func (s *Server) MultipleContentTypes(context.Context, *conformancev1.MultipleContentTypesRequest) (*conformancev1.MultipleContentTypesResponse, error) {
	return &conformancev1.MultipleContentTypesResponse{Content: []*toolv1.Content{
		text("Multiple content types test:"),
		pictureBlock(),
		resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
	}}, nil
}

// ErrorHandling always answers with an error that the service authored.
func (s *Server) ErrorHandling(context.Context, *conformancev1.ErrorHandlingRequest) (*toolv1.ToolResult, error) {
	return &toolv1.ToolResult{
		IsError: true, Content: []*toolv1.Content{text("This tool intentionally returns an error for testing.")},
	}, nil
}

// ToolWithProgress reports 0, 50 and 100 of 100 and then answers with a text.
func (s *Server) ToolWithProgress(_ *conformancev1.ToolWithProgressRequest, stream grpc.ServerStreamingServer[conformancev1.ToolWithProgressResponse]) error {
	err := work(stream.Context(), func(sign *toolv1.Progress) error {
		return stream.Send(&conformancev1.ToolWithProgressResponse{
			Step: &conformancev1.ToolWithProgressResponse_Progress{Progress: sign},
		})
	})
	if err != nil {
		return err
	}
	return stream.Send(&conformancev1.ToolWithProgressResponse{Step: &conformancev1.ToolWithProgressResponse_Result{
		Result: &conformancev1.ToolWithProgressResult{Content: []*toolv1.Content{text("The work is done.")}},
	}})
}

// MissingCapability answers a client that declared sampling; the edge lets no other through.
func (s *Server) MissingCapability(context.Context, *conformancev1.MissingCapabilityRequest) (*conformancev1.MissingCapabilityResponse, error) {
	return &conformancev1.MissingCapabilityResponse{Content: []*toolv1.Content{text("The client declared sampling.")}}, nil
}

// StreamingElicitation reports progress and answers with a text. It asks the client nothing.
func (s *Server) StreamingElicitation(_ *conformancev1.StreamingElicitationRequest, stream grpc.ServerStreamingServer[conformancev1.StreamingElicitationResponse]) error {
	err := work(stream.Context(), func(sign *toolv1.Progress) error {
		return stream.Send(&conformancev1.StreamingElicitationResponse{
			Step: &conformancev1.StreamingElicitationResponse_Progress{Progress: sign},
		})
	})
	if err != nil {
		return err
	}
	return stream.Send(&conformancev1.StreamingElicitationResponse{Step: &conformancev1.StreamingElicitationResponse_Result{
		Result: &conformancev1.StreamingElicitationResult{Content: []*toolv1.Content{text("Done without asking the client.")}},
	}})
}

// LoggingTool logs in this process and answers with a text.
func (s *Server) LoggingTool(ctx context.Context, _ *conformancev1.LoggingToolRequest) (*conformancev1.LoggingToolResponse, error) {
	s.logger.InfoContext(ctx, "the logging tool was called")
	return &conformancev1.LoggingToolResponse{Content: []*toolv1.Content{text("Logged, in the service's own log.")}}, nil
}

// CustomHeader answers with the region that was asked for.
func (s *Server) CustomHeader(_ context.Context, request *conformancev1.CustomHeaderRequest) (*conformancev1.CustomHeaderResponse, error) {
	return &conformancev1.CustomHeaderResponse{Region: request.GetRegion()}, nil
}

// work reports three signs of progress with a pause between them. It ends early when the caller leaves.
func work(ctx context.Context, report func(*toolv1.Progress) error) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for _, done := range []float64{0, 50, 100} {
		if done > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return status.FromContextError(ctx.Err()).Err()
			}
		}
		if err := report(&toolv1.Progress{Progress: done, Total: proto.Float64(100), Message: "working"}); err != nil {
			return err
		}
	}
	return nil
}

func text(t string) *toolv1.Content {
	return &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: t}}}
}

func pictureBlock() *toolv1.Content {
	return &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{Data: picture, MimeType: "image/png"}}}
}

func resource(uri, mimeType, contents string) *toolv1.Content {
	return &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{
		Uri: uri, MimeType: mimeType, Contents: &toolv1.EmbeddedResource_Text{Text: contents},
	}}}
}
