package redact

import (
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Limits of what is shown, in characters and in lines.
const (
	MaxMessage     = 2000 // of a message
	MaxDescription = 500  // of the description of one violation
	MaxViolations  = 10   // that are written out; the others are counted
)

// Status returns what the status of a service says to the caller who sent the arguments, without anything that the
// caller sent, and whether corrected arguments may succeed. See the package comment for what is found.
//
// The text is never blank for a code that speaks: where the service wrote nothing, or where the arguments cannot be read,
// it is the constant [Text]. For any other code it is blank; nothing that the service wrote is shown then. It is valid
// UTF-8, one line for the message and one for each violation.
//
// Status is safe for concurrent use; it keeps nothing.
func Status(doc *schema.Document, arguments []byte, s *status.Status) (text string, correctable bool) {
	code := s.Code()
	if !Speaks(code) {
		return "", false
	}
	said := read(doc, s)
	shown, err := redact(doc, arguments, said.texts())
	if err != nil {
		return Text(code), Correctable(code)
	}
	var out strings.Builder
	if out.WriteString(shown[0]); shown[0] == "" {
		out.WriteString(Text(code))
	}
	written := map[string]bool{}
	for i, v := range said.violations {
		line := v.line(shown[i+1])
		if line == "" || written[line] {
			continue
		}
		written[line] = true
		out.WriteString("\n- " + line)
	}
	if said.more > 0 {
		out.WriteString("\nand " + strconv.Itoa(said.more) + " more")
	}
	return out.String(), Correctable(code)
}

// statement is what a service wrote for its caller.
type statement struct {
	message    text
	violations []violation
	more       int // violations beyond those

	known map[violation]bool
}

// violation is one thing that the service found wrong with the request.
type violation struct {
	path   string // published; blank for none
	forKey bool   // said of the key of a map
	said   text
}

// line is a violation as it is shown, in the form of the gate's refusals; blank where nothing is left of it.
func (v *violation) line(said string) string {
	switch {
	case v.path == "":
		return said
	case said == "":
		return v.path + ": is not accepted"
	case v.forKey:
		return v.path + ": each key: " + said
	default:
		return v.path + ": " + said
	}
}

// read takes from a status what is for the caller. Of several localized messages the first wins: services send the one
// for their caller.
func read(doc *schema.Document, s *status.Status) *statement {
	out := &statement{known: map[violation]bool{}}
	message := s.Message()
	localized := false
	for _, detail := range s.Proto().GetDetails() {
		if m := as(detail, &errdetails.LocalizedMessage{}); m != nil && !localized && strings.TrimSpace(m.GetMessage()) != "" {
			message, localized = m.GetMessage(), true
		}
		for _, v := range as(detail, &errdetails.BadRequest{}).GetFieldViolations() {
			path, _ := published(doc, parsePath(v.GetField()))
			out.add(violation{path: path}, v.GetLocalizedMessage().GetMessage(), v.GetDescription(), v.GetReason())
		}
		for _, v := range as(detail, &validate.Violations{}).GetViolations() {
			path, _ := published(doc, stepsOf(v.GetField()))
			out.add(violation{path: path, forKey: v.GetForKey()}, v.GetMessage(), v.GetRuleId())
		}
	}
	out.message = clean(message, MaxMessage)
	return out
}

// as reads a detail of m's type; nil if it is of another, or not what it says.
func as[M interface {
	*T
	proto.Message
}, T any](detail *anypb.Any, m M) M {
	if !detail.MessageIs(m) || detail.UnmarshalTo(m) != nil {
		return nil
	}
	return m
}

// add notes a violation with the first of the texts that is not blank.
func (s *statement) add(v violation, texts ...string) {
	for _, t := range texts {
		if v.said = clean(t, MaxDescription); v.said.clean != "" {
			break
		}
	}
	if v.path == "" && v.said.clean == "" || s.known[v] {
		return
	}
	s.known[v] = true
	if len(s.violations) == MaxViolations {
		s.more++
		return
	}
	s.violations = append(s.violations, v)
}

// texts are the message and what is said of each violation.
func (s *statement) texts() []text {
	texts := []text{s.message}
	for _, v := range s.violations {
		texts = append(texts, v.said)
	}
	return texts
}
