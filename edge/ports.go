package edge

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/mem"

	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/redact"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// The types below fit the rooms into each other: they pass on and translate, and decide nothing.

// machines are the machine identities of the newest view, as internal/auth asks for them.
type machines struct{ e *Edge }

func (m machines) Machine(id string) (*registryv1.StoredMachine, bool) {
	return m.e.watcher.Machine(id)
}

// tools is the catalog as internal/mcp asks for it.
type tools struct {
	e *Edge
	// last is what was loaded last, so that one snapshot is wrapped once.
	last atomic.Pointer[snapshot]
}

func (t *tools) Load() mcp.Snapshot {
	current := t.e.catalog.Load()
	if current == nil {
		return nil
	}
	if last := t.last.Load(); last != nil && last.Snapshot == current {
		return last
	}
	s := &snapshot{current, t.e.dispatcher}
	t.last.Store(s)
	return s
}

// snapshot is one snapshot of the catalog, whose tools the dispatcher calls.
type snapshot struct {
	*catalog.Snapshot
	dispatcher *dispatch.Dispatcher
}

func (s *snapshot) Resolve(p *participant.Participant, d dialect.Dialect, name string) (mcp.Tool, bool) {
	entry, found := s.Snapshot.Resolve(p, d, name)
	if !found {
		return nil, false
	}
	return tool{entry, s.dispatcher, d}, true
}

// tool is one entry of the catalog, good for a call.
type tool struct {
	*catalog.Entry
	dispatcher *dispatch.Dispatcher
	dialect    dialect.Dialect
}

func (t tool) ResultType() string { return string(t.Tool.Result.FullName()) }
func (t tool) Online() bool       { return t.Entry.Online }

func (t tool) Progress() bool           { return t.Tool.Progress }
func (t tool) Capabilities() []string   { return t.Tool.Capabilities }
func (t tool) Headers() []schema.Header { return t.Tool.Headers }
func (t tool) AsksForHeaders() bool     { return t.dialect.AsksForHeaders() }

func (t tool) Judge(arguments []byte) ([]byte, *mcp.Refusal, error) {
	plan, err := t.CallPlan(t.dialect)
	if err != nil {
		return nil, nil, err
	}
	request, refusal := plan.Judge(arguments)
	if refusal != nil {
		return nil, &mcp.Refusal{Text: refusal.Text(), Correctable: refusal.Correctable}, nil
	}
	return request, nil, nil
}

func (t tool) AppendResult(dst, response []byte) ([]byte, bool, error) {
	plan, err := t.CallPlan(t.dialect)
	if err != nil {
		return dst, false, err
	}
	return plan.AppendResult(dst, response)
}

func (t tool) Explain(arguments []byte, f *mcp.Failure) (string, bool) {
	var failure *dispatch.Error
	if errors.As(f.Err, &failure) && failure.Status != nil {
		if t.dialect.ChangesArguments() {
			if plan, err := t.CallPlan(t.dialect); err == nil {
				arguments = dialect.Canonicalize(plan.Input(), arguments)
			}
		}
		return redact.Status(t.Tool.Input, arguments, failure.Status)
	}
	// The code is not the service's own word.
	return redact.Text(f.Code), redact.Correctable(f.Code)
}

func (t tool) Dispatch(ctx context.Context, c *mcp.Call, report func(mcp.Sign)) (mem.Buffer, error) {
	call := &dispatch.Request{
		Participant: c.Participant,
		Service:     t.Service,
		FullMethod:  t.Tool.FullMethod,
		RepeatSafe:  t.Tool.RepeatSafe,
		Timeout:     t.Tool.Timeout,
		Body:        c.Request,
		Forwarded:   c.Forwarded,
	}
	var (
		response mem.Buffer
		err      error
	)
	if t.Tool.Progress {
		response, err = t.stream(ctx, call, report)
	} else {
		response, err = t.dispatcher.Call(ctx, call)
	}
	if err == nil {
		return response, nil
	}
	var failure *dispatch.Error
	if !errors.As(err, &failure) {
		return nil, err
	}
	return nil, &mcp.Failure{
		Code:         failure.Code,
		NotExecuted:  failure.Executed == dispatch.ExecutedNo,
		TooLarge:     failure.TooLarge,
		Disagreement: failure.Disagreement,
		Fault:        failure.Fault,
		Err:          failure,
	}
}

// stream calls a tool that has progress. Its response is the message that holds the result.
func (t tool) stream(ctx context.Context, call *dispatch.Request, report func(mcp.Sign)) (mem.Buffer, error) {
	plan, err := t.CallPlan(t.dialect)
	if err != nil {
		return nil, err
	}
	return t.dispatcher.Stream(ctx, call, func(message []byte) (bool, error) {
		step, err := plan.ReadStep(message)
		if err == nil && !step.Last && report != nil {
			report(mcp.Sign(step.Sign))
		}
		return step.Last, err
	})
}
