package lifecycle

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
)

// Log writes the one line of a settled request, at info. The shortest way is to the handler of [Lines].
func Log(ctx context.Context, logger *slog.Logger, s *Settlement) {
	to := logger.Handler()
	if !to.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if h, ok := to.(*handler); ok && h.plain {
		// A log that cannot be written is nothing that a request could mend; so below.
		_ = h.lines.add(s.appendLine)
		return
	}
	var here [1]uintptr
	runtime.Callers(1, here[:])
	record := slog.NewRecord(s.At, slog.LevelInfo, "request settled", here[0])
	var room [9]slog.Attr
	attrs := append(room[:0],
		slog.String("reference", s.Reference),
		slog.String("outcome", string(s.Outcome)),
		slog.String("class", string(s.Class)),
		slog.Int("status", s.Status),
		slog.Duration("duration", s.Duration))
	if s.Method != "" {
		attrs = append(attrs, slog.String("method", s.Method))
	}
	if s.Tool != "" {
		attrs = append(attrs, slog.String("tool", s.Tool))
	}
	if s.ProtocolVersion != "" {
		attrs = append(attrs, slog.String("protocol", s.ProtocolVersion))
	}
	if p := s.Participant; p != nil {
		attrs = append(attrs, slog.GroupAttrs("participant",
			slog.String("kind", kindName(p.GetKind())),
			slog.String("organization", p.GetOrganizationId()),
			slog.String("application", p.GetApplicationId()),
			slog.String("id", p.GetId())))
	}
	record.AddAttrs(attrs...)
	_ = to.Handle(ctx, record)
}

// kindName is the name of a kind of participant. The enum's own String asks its descriptor each time.
func kindName(k participantv1.Kind) string {
	if int(k) < len(kindNames) && k >= 0 {
		return kindNames[k]
	}
	return k.String()
}

var kindNames = func() (names [participantv1.Kind_KIND_ANONYMOUS + 1]string) {
	for k := range names {
		names[k] = participantv1.Kind(k).String()
	}
	return names
}()

// appendLine appends the line as slog's JSON handler writes it, at a quarter of the cost: there is one for every
// request.
func (s *Settlement) appendLine(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = s.At.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"request settled"`...)
	b = appendText(b, `,"reference":`, s.Reference)
	b = appendText(b, `,"outcome":`, string(s.Outcome))
	b = appendText(b, `,"class":`, string(s.Class))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(s.Status), 10)
	b = append(b, `,"duration":`...)
	b = strconv.AppendInt(b, int64(s.Duration), 10)
	if s.Method != "" {
		b = appendText(b, `,"method":`, s.Method)
	}
	if s.Tool != "" {
		b = appendText(b, `,"tool":`, s.Tool)
	}
	if s.ProtocolVersion != "" {
		b = appendText(b, `,"protocol":`, s.ProtocolVersion)
	}
	if p := s.Participant; p != nil {
		b = append(appendParticipant(b, p), '}')
	}
	return append(b, "}\n"...)
}

// appendParticipant appends what identifies a participant, up to the brace that closes it.
func appendParticipant(b []byte, p *participantv1.Participant) []byte {
	b = appendText(b, `,"participant":{"kind":`, kindName(p.GetKind()))
	b = appendText(b, `,"organization":`, p.GetOrganizationId())
	b = appendText(b, `,"application":`, p.GetApplicationId())
	return appendText(b, `,"id":`, p.GetId())
}

func appendText(b []byte, key, text string) []byte {
	b = append(b, key...)
	// The error says that invalid UTF-8 was replaced, which is what we want of it.
	b, _ = jsontext.AppendQuote(b, text)
	return b
}
