package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/bufbuild/protocompile"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/test/stack"
)

// workshopProto is the contract of the service that the clients' slow calls go to. Every call that lasts has a key, by
// which other calls, and the test, ask what became of it: nobody waits for a clock. The calls that are cancelled may take
// longer than anybody waits for their end, so that it is not their time that ends them.
const workshopProto = `
syntax = "proto3";
package workshop.v1;
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";

service WorkshopService {
  option (sallyport.tool.v1.service) = {title: "Workshop"};

  // Counts aloud until it is told to finish.
  rpc Count(CountRequest) returns (stream CountResponse) {
    option (sallyport.tool.v1.tool) = {progress: true, timeout: {seconds: 600}};
  }
  // Waits until it is told to finish.
  rpc Wait(WaitRequest) returns (WaitResponse) { option (sallyport.tool.v1.tool) = {timeout: {seconds: 600}}; }
  // Tells a call to finish.
  rpc Finish(FinishRequest) returns (FinishResponse);
  // Returns when a call has begun.
  rpc AwaitBegin(AwaitBeginRequest) returns (AwaitBeginResponse);
  // Returns when a call has ended, and says how.
  rpc AwaitEnd(AwaitEndRequest) returns (AwaitEndResponse);
  // Returns when as many calls are there as are expected.
  rpc Meet(MeetRequest) returns (MeetResponse);
  // Shows one block of each kind.
  rpc Show(ShowRequest) returns (ShowResponse);
}

message CountRequest { string key = 1; }
message CountResponse {
  oneof step {
    sallyport.tool.v1.Progress progress = 1;
    Counted counted = 2;
  }
}
message Counted { string key = 1; bool told = 2; }
message WaitRequest { string key = 1; }
message WaitResponse { bool told = 1; }
message FinishRequest { string key = 1; }
message FinishResponse {}
message AwaitBeginRequest { string key = 1; }
message AwaitBeginResponse {}
message AwaitEndRequest { string key = 1; }
message AwaitEndResponse { string how = 1; }
message MeetRequest {
  string key = 1;
  int32 expected = 2 [(sallyport.tool.v1.field) = {header: "Expected"}];
  string name = 3 [(sallyport.tool.v1.field) = {header: "Attendee"}];
}
message MeetResponse { string name = 1; }
message ShowRequest {}
message ShowResponse {
  repeated sallyport.tool.v1.Content blocks = 1 [(sallyport.tool.v1.field) = {content: true}];
  string caption = 2;
}
`

// workshopTools are the service's titles.
var workshopTools = []string{
	"Workshop Await Begin", "Workshop Await End", "Workshop Count", "Workshop Finish", "Workshop Meet", "Workshop Show",
	"Workshop Wait",
}

// The ways in which a call can end.
const (
	endedTold     = "told"
	endedCanceled = "canceled"
)

// workshop is the service. Its methods may be called from several goroutines.
type workshop struct {
	service protoreflect.ServiceDescriptor

	mu       sync.Mutex
	visits   map[string]*visit
	meetings map[string]*meeting
}

// visit is one call that lasts. Each channel is closed once.
type visit struct {
	begun, told, ended chan struct{}
	tell               sync.Once
	// how is one of the ways above, or what else happened. It may be read when ended is closed.
	how string
}

// meeting counts who has come.
type meeting struct {
	present int32
	full    chan struct{}
}

// startWorkshop registers the service in the house's application zone, from a process of its own as far as the house
// can tell, and waits until its tools are listed.
func startWorkshop(t *testing.T, house *stack.House, listener net.Listener) *workshop {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(house.Dir, "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dev struct {
		Hosts struct{ Organization stack.Machine }
	}
	if err := json.Unmarshal(raw, &dev); err != nil {
		t.Fatal(err)
	}
	w := &workshop{service: workshopDescriptor(t), visits: map[string]*visit{}, meetings: map[string]*meeting{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- service.Run(ctx, w.register,
			service.Registry(house.RegistryGRPCAddr),
			service.Credentials(dev.Hosts.Organization.ClientID, dev.Hosts.Organization.ClientSecret),
			service.Zone("app.acme-org.orders-app"),
			service.Listener(listener),
			service.NoSignals(),
		)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the workshop ended with %v", err)
		}
	})
	stack.Eventually(t, "the workshop's tools are listed", func() bool {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("the workshop ended with %v", err)
		default:
		}
		return len(listAll(t, house)) == len(ordersTools)+len(workshopTools)
	})
	return w
}

// listAll gives the titles of all pages.
func listAll(t *testing.T, house *stack.House) []string {
	t.Helper()
	var titles []string
	params := map[string]any{}
	for {
		_, reply := stack.Post(t, house.MCPURL, house.Machines.Application, "tools/list", params)
		var page struct {
			Tools      []tool
			NextCursor *string
		}
		if err := json.Unmarshal(reply.Result, &page); err != nil {
			t.Fatalf("tools/list answered %+v: %v", reply, err)
		}
		for _, tool := range page.Tools {
			titles = append(titles, tool.Title)
		}
		if page.NextCursor == nil {
			return titles
		}
		params["cursor"] = *page.NextCursor
	}
}

// workshopDescriptor compiles the contract and links it into the test, as a generated package would be.
func workshopDescriptor(t *testing.T) protoreflect.ServiceDescriptor {
	t.Helper()
	const path, name = "workshop/v1/workshop.proto", "workshop.v1.WorkshopService"
	if d, err := protoregistry.GlobalFiles.FindDescriptorByName(name); err == nil {
		return d.(protoreflect.ServiceDescriptor)
	}
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{path: workshopProto})},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
				return protocompile.SearchResult{Desc: fd}, err
			}),
		},
	}
	files, err := compiler.Compile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	// The options come back through the wire, as linked types.
	raw, err := proto.Marshal(protodesc.ToFileDescriptorProto(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	fdp := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(raw, fdp); err != nil {
		t.Fatal(err)
	}
	fd, err := protodesc.NewFile(fdp, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(fd); err != nil {
		t.Fatal(err)
	}
	return fd.Services().Get(0)
}

// unary answers one call: the request in, the response's fields out.
type unary func(ctx context.Context, in, out *dynamicpb.Message) error

func (w *workshop) register(r grpc.ServiceRegistrar) {
	desc := &grpc.ServiceDesc{ServiceName: string(w.service.FullName()), HandlerType: (*any)(nil)}
	desc.Streams = []grpc.StreamDesc{{StreamName: "Count", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		return w.count(stream)
	}}}
	for name, f := range map[protoreflect.Name]unary{
		"Wait": w.wait, "Finish": w.finish, "AwaitBegin": w.awaitBegin, "AwaitEnd": w.awaitEnd, "Meet": w.meet, "Show": w.show,
	} {
		md := w.service.Methods().ByName(name)
		info := &grpc.UnaryServerInfo{FullMethod: "/" + desc.ServiceName + "/" + string(name)}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(name), Handler: func(
			_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor,
		) (any, error) {
			in := dynamicpb.NewMessage(md.Input())
			if err := decode(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, in any) (any, error) {
				out := dynamicpb.NewMessage(md.Output())
				return out, f(ctx, in.(*dynamicpb.Message), out)
			}
			if interceptor == nil {
				return handle(ctx, in)
			}
			return interceptor(ctx, in, info, handle)
		}})
	}
	r.RegisterService(desc, w)
}

// count reports one sign of life after the other, more than an edge passes on, until it is told or cancelled.
func (w *workshop) count(stream grpc.ServerStream) error {
	md := w.service.Methods().ByName("Count")
	in := dynamicpb.NewMessage(md.Input())
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	key := text(in, "key")
	v, err := w.begin(key)
	if err != nil {
		return err
	}
	step := md.Output().Fields()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for n := 1.0; ; n++ {
		out := dynamicpb.NewMessage(md.Output())
		sign := &toolv1.Progress{Progress: n, Total: proto.Float64(1e6), Message: fmt.Sprintf("counted to %g", n)}
		out.Set(step.ByName("progress"), protoreflect.ValueOfMessage(sign.ProtoReflect()))
		if err := stream.SendMsg(out); err != nil {
			v.end(gone(stream.Context()))
			return err
		}
		select {
		case <-stream.Context().Done():
			v.end(gone(stream.Context()))
			return status.FromContextError(stream.Context().Err()).Err()
		case <-v.told:
			v.end(endedTold)
			counted := dynamicpb.NewMessage(step.ByName("counted").Message())
			set(counted, "key", key)
			set(counted, "told", true)
			out := dynamicpb.NewMessage(md.Output())
			out.Set(step.ByName("counted"), protoreflect.ValueOfMessage(counted))
			return stream.SendMsg(out)
		case <-ticker.C:
		}
	}
}

func (w *workshop) wait(ctx context.Context, in, out *dynamicpb.Message) error {
	v, err := w.begin(text(in, "key"))
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		v.end(gone(ctx))
		return status.FromContextError(ctx.Err()).Err()
	case <-v.told:
		v.end(endedTold)
		set(out, "told", true)
		return nil
	}
}

func (w *workshop) finish(_ context.Context, in, _ *dynamicpb.Message) error {
	w.tell(text(in, "key"))
	return nil
}

func (w *workshop) awaitBegin(ctx context.Context, in, _ *dynamicpb.Message) error {
	return until(ctx, w.visit(text(in, "key")).begun)
}

func (w *workshop) awaitEnd(ctx context.Context, in, out *dynamicpb.Message) error {
	v := w.visit(text(in, "key"))
	if err := until(ctx, v.ended); err != nil {
		return err
	}
	set(out, "how", v.how)
	return nil
}

func (w *workshop) meet(ctx context.Context, in, out *dynamicpb.Message) error {
	w.mu.Lock()
	m := w.meetings[text(in, "key")]
	if m == nil {
		m = &meeting{full: make(chan struct{})}
		w.meetings[text(in, "key")] = m
	}
	m.present++
	if m.present == int32(in.Get(in.Descriptor().Fields().ByName("expected")).Int()) {
		close(m.full)
	}
	w.mu.Unlock()
	set(out, "name", text(in, "name"))
	return until(ctx, m.full)
}

func (w *workshop) show(_ context.Context, _, out *dynamicpb.Message) error {
	blocks := out.Mutable(out.Descriptor().Fields().ByName("blocks")).List()
	for _, block := range []*toolv1.Content{
		{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: "a text"}}},
		{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{Data: []byte{0x89, 'P', 'N', 'G'}, MimeType: "image/png"}}},
		{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{Data: []byte("RIFF"), MimeType: "audio/wav"}}},
		{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "https://example.com/plan", Name: "plan"}}},
		{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{
			Uri: "https://example.com/note", MimeType: "text/plain", Contents: &toolv1.EmbeddedResource_Text{Text: "a note"},
		}}},
	} {
		blocks.Append(protoreflect.ValueOfMessage(block.ProtoReflect()))
	}
	set(out, "caption", "five blocks")
	return nil
}

// shown are the kinds of the blocks above, in their order.
var shown = []string{"text", "image", "audio", "resource_link", "resource"}

// visit gives what is known of a call; asking for a call that has not begun is fine.
func (w *workshop) visit(key string) *visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.visits[key]
	if v == nil {
		v = &visit{begun: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{})}
		w.visits[key] = v
	}
	return v
}

// begin notes that a call has begun. Each is carried out once.
func (w *workshop) begin(key string) (*visit, error) {
	v := w.visit(key)
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-v.begun:
		return nil, status.Error(codes.AlreadyExists, "the call has begun before")
	default:
		close(v.begun)
		return v, nil
	}
}

// tell tells a call to finish.
func (w *workshop) tell(key string) {
	v := w.visit(key)
	v.tell.Do(func() { close(v.told) })
}

// end notes how a call ended.
func (v *visit) end(how string) {
	v.how = how
	close(v.ended)
}

// gone is how a call ended that was not told to.
func gone(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return endedCanceled
	}
	return fmt.Sprint(ctx.Err())
}

// wantEnd waits until a call has ended, and checks how.
func (w *workshop) wantEnd(t *testing.T, key, how string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	v := w.visit(key)
	if err := until(ctx, v.ended); err != nil {
		t.Errorf("call %s: its context did not end at the service within %v", key, stack.Patience)
	} else if v.how != how {
		t.Errorf("call %s ended at the service as %q, want %q", key, v.how, how)
	}
}

func until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return status.Error(codes.DeadlineExceeded, "nothing happened")
	}
}

func text(m *dynamicpb.Message, field protoreflect.Name) string {
	return m.Get(m.Descriptor().Fields().ByName(field)).String()
}

func set(m *dynamicpb.Message, field protoreflect.Name, value any) {
	m.Set(m.Descriptor().Fields().ByName(field), protoreflect.ValueOf(value))
}
