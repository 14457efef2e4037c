package rpc

import (
	"context"
	"maps"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/participant"
)

// declaration is what an RPC says of itself in its proto.
type declaration struct {
	service, zone string
	access        *toolv1.Access
}

var declarations sync.Map // full method -> *declaration

// declarationOf reads an RPC's declaration, once. Of an RPC that is not linked in, only the service is known.
func declarationOf(method string) *declaration {
	if d, ok := declarations.Load(method); ok {
		return d.(*declaration)
	}
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	d := &declaration{service: service}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if sd, ok := found.(protoreflect.ServiceDescriptor); err == nil && ok {
		d.zone = proto.GetExtension(sd.ParentFile().Options(), toolv1.E_File).(*toolv1.File).GetZone()
		if md := sd.Methods().ByName(protoreflect.Name(name)); md != nil {
			d.access = proto.GetExtension(md.Options(), toolv1.E_Tool).(*toolv1.Tool).GetAccess()
		}
	}
	stored, _ := declarations.LoadOrStore(method, d)
	return stored.(*declaration)
}

// authorize lets pass who may call what declares an access rule. What declares none judges its callers itself.
//
// The platform's own services declare actions and nothing else; what else were declared is refused, since unknown means
// no.
func (d *Door) authorize(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	declared := declarationOf(info.FullMethod)
	if declared.access == nil {
		return next(ctx, req)
	}
	who, view := CallerOf(ctx).Participant, d.o.Watcher.View()
	if !(participant.Rules{}).Reaches(who, declared.zone) {
		return nil, status.Errorf(codes.PermissionDenied, "%s is not for you: callers of its zone %s are %s",
			declared.service, declared.zone, reachers(declared.zone))
	}
	action := declared.access.GetAction()
	plain := proto.Equal(declared.access, &toolv1.Access{Action: action})
	if !plain || !access.NewGrants(maps.Values(view.Roles)).Grant(who.GetRoles(), declared.zone, action) {
		return nil, status.Errorf(codes.PermissionDenied, "none of your roles grants %s: ask for one that does", action)
	}
	return next(ctx, req)
}

func reachers(zone string) string {
	if participant.Within(zone, participant.SystemZone) {
		return "the platform's own"
	}
	return "the platform's own and those of organizations themselves"
}
