package edge_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// probeProto is a service for the tests of this package: it says what it was told, fails as it is told, and waits until
// it is told to stop.
const probeProto = `
syntax = "proto3";
package probe.v1;
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";

service ProbeService {
  option (sallyport.tool.v1.service) = {title: "Probe"};
  // Says the word back.
  rpc Say(SayRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "say", read_only_hint: true};
  }
  // Answers with a gRPC status.
  rpc Fail(FailRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "fail"};
  }
  // Runs until the caller leaves, or the test lets go.
  rpc Wait(WaitRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "wait"};
  }
  // Runs longer than it may.
  rpc Late(WaitRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "late", timeout: {nanos: 100000000}};
  }
  // Nobody may call it.
  rpc Deny(WaitRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "deny", access: {mode: ACCESS_MODE_DENY_ALL}};
  }
}

// Declares no names, so that one application may have it in many zones.
service PlainService {
  // Says the word back.
  rpc Say(SayRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {read_only_hint: true};
  }
}

// Asks who calls, and with what.
service RuleService {
  // For one machine alone.
  rpc Whisper(SayRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "whisper", access: {policy: "participant.id == 'speaker'"}};
  }
  // Not too often.
  rpc Say(SayRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "repeat", access: {policy: "arguments.times < 3"}};
  }
  // Without a word.
  rpc Nod(SayRequest) returns (SayResponse) {
    option (sallyport.tool.v1.tool) = {name: "nod", access: {policy: "!has(arguments.word)"}};
  }
}

// Tells how far it is.
service StreamService {
  // Does the steps, one after the other.
  rpc Run(RunRequest) returns (stream RunStep) {
    option (sallyport.tool.v1.tool) = {name: "run", progress: true, idempotent_hint: true};
  }
  // Does the steps, and has little time.
  rpc RunSoon(RunRequest) returns (stream RunStep) {
    option (sallyport.tool.v1.tool) = {name: "run_soon", progress: true, timeout: {nanos: 100000000}};
  }
}

message RunRequest { repeated string steps = 1; }
message RunStep {
  oneof step {
    sallyport.tool.v1.Progress progress = 1;
    SayResponse result = 2;
  }
}
message SayRequest {
  // The word.
  string word = 1;
  int32 times = 2;
}
message SayResponse {
  string word = 1;
  string served_by = 2;
  string participant_id = 3;
}
message FailRequest { int32 code = 1; string message = 2; }
message WaitRequest {}
`

// The services of the proto.
const (
	probeService  = "probe.v1.ProbeService"
	plainService  = "probe.v1.PlainService"
	streamService = "probe.v1.StreamService"
	ruleService   = "probe.v1.RuleService"
)

// probeFiles is the compiled proto with everything that it imports, comments included.
var probeFiles = sync.OnceValues(func() (*descriptorpb.FileDescriptorSet, error) {
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"probe/v1/probe.proto": probeProto})},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
				return protocompile.SearchResult{Desc: fd}, err
			}),
		},
	}
	files, err := compiler.Compile(context.Background(), "probe/v1/probe.proto")
	if err != nil {
		return nil, err
	}
	set := schematest.FileSet(files[0])
	// The options come back through the wire, as linked types.
	raw, err := proto.Marshal(set)
	if err != nil {
		return nil, err
	}
	set = new(descriptorpb.FileDescriptorSet)
	return set, proto.Unmarshal(raw, set)
})

// probe is one running process of the service, as far as anyone can tell from outside.
type probe struct {
	name    string
	address string
	server  *grpc.Server

	// running gets one value when a Wait begins, ended its context's error when the caller is gone.
	running chan struct{}
	ended   chan error
	// release lets every Wait answer.
	release chan struct{}
	// calls gets the metadata of every call.
	calls chan metadata.MD
}

// startProbe serves the service on loopback until the test ends.
func startProbe(t testing.TB, name string) *probe {
	t.Helper()
	set, err := probeFiles()
	if err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{
		name: name, server: grpc.NewServer(), running: make(chan struct{}, 16), ended: make(chan error, 16),
		release: make(chan struct{}), calls: make(chan metadata.MD, 1024),
	}
	for _, name := range []protoreflect.FullName{probeService, plainService, ruleService} {
		found, err := files.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		description := &grpc.ServiceDesc{ServiceName: string(name), HandlerType: (*any)(nil)}
		methods := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			description.Methods = append(description.Methods, p.method(methods.Get(i)))
		}
		p.server.RegisterService(description, p)
	}
	p.serveStreams(files)
	healthServer := health.NewServer()
	healthv1.RegisterHealthServer(p.server, healthServer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(l) }()
	t.Cleanup(func() {
		p.server.Stop()
		<-served
	})
	return p
}

func (p *probe) port() uint32 {
	return uint32(netip.MustParseAddrPort(p.address).Port())
}

func (p *probe) method(md protoreflect.MethodDescriptor) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: string(md.Name()),
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := dynamicpb.NewMessage(md.Input())
			if err := decode(in); err != nil {
				return nil, err
			}
			sent, _ := metadata.FromIncomingContext(ctx)
			p.calls <- sent
			return p.serve(ctx, md, in)
		},
	}
}

func (p *probe) serve(ctx context.Context, md protoreflect.MethodDescriptor, in *dynamicpb.Message) (any, error) {
	get := func(name protoreflect.Name) protoreflect.Value { return in.Get(md.Input().Fields().ByName(name)) }
	out := dynamicpb.NewMessage(md.Output())
	set := func(name protoreflect.Name, text string) {
		out.Set(md.Output().Fields().ByName(name), protoreflect.ValueOfString(text))
	}
	set("served_by", p.name)
	switch md.Name() {
	case "Say":
		set("word", get("word").String())
	case "Fail":
		return nil, status.Error(codes.Code(get("code").Int()), get("message").String())
	case "Wait", "Late":
		p.running <- struct{}{}
		select {
		case <-ctx.Done():
			p.ended <- ctx.Err()
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-p.release:
		}
	}
	return out, nil
}
