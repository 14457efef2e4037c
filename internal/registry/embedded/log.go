package embedded

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.uber.org/zap/zapcore"
)

// errorCore carries etcd's errors into our log and drops the rest: etcd reports its every step, and its warnings are
// mostly about slow disks of machines that it does not know. Once the member is being closed, that its listeners are
// closed is no error either.
type errorCore struct {
	log     *slog.Logger
	closing *atomic.Bool
	fields  []zapcore.Field
}

func (c *errorCore) Enabled(l zapcore.Level) bool {
	return l >= zapcore.ErrorLevel && !c.closing.Load()
}

func (c *errorCore) With(fields []zapcore.Field) zapcore.Core {
	return &errorCore{log: c.log, closing: c.closing, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// early are errors that a healthy member may report in its first second, and then mends itself.
var early = map[string]bool{"failed to update storage version": true}

func (c *errorCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) && !early[e.Message] {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c *errorCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(values)
	}
	attrs := make([]slog.Attr, 0, len(values.Fields))
	for name, value := range values.Fields {
		attrs = append(attrs, slog.Any(name, value))
	}
	c.log.LogAttrs(context.Background(), slog.LevelError, "etcd: "+e.Message, attrs...)
	return nil
}

func (c *errorCore) Sync() error { return nil }
