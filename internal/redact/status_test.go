package redact_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/sallyport-dev/sallyport/internal/redact"
)

func TestStatus_speaksByCode(t *testing.T) {
	doc := order(t)
	for code := codes.OK; code <= codes.Unauthenticated+1; code++ {
		t.Run(code.String(), func(t *testing.T) {
			speaks, correctable := false, false
			switch code {
			case codes.InvalidArgument, codes.OutOfRange, codes.NotFound, codes.AlreadyExists:
				speaks, correctable = true, true
			case codes.FailedPrecondition, codes.Aborted, codes.ResourceExhausted, codes.PermissionDenied, codes.Unimplemented:
				speaks = true
			}
			if redact.Speaks(code) != speaks || redact.Correctable(code) != correctable || (redact.Text(code) != "") != speaks {
				t.Errorf("speaks %v, correctable %v, text %q", redact.Speaks(code), redact.Correctable(code), redact.Text(code))
			}
			want := ""
			if speaks {
				want = "order '{orderId}' is odd"
			}
			text, ok := redact.Status(doc, []byte(`{"orderId":"A-17"}`), status.New(code, "order 'A-17' is odd"))
			if text != want || ok != correctable {
				t.Errorf("got %q, %v; want %q, %v", text, ok, want, correctable)
			}
			for _, nothing := range []string{"", " \n\x00 "} {
				if text, _ := redact.Status(doc, []byte(`{}`), status.New(code, nothing)); text != redact.Text(code) {
					t.Errorf("with the message %q: %q, want the constant text", nothing, text)
				}
			}
			if text, _ := redact.Status(doc, []byte(`{"orderId":`), status.New(code, "hullo")); text != redact.Text(code) {
				t.Errorf("with arguments that cannot be read: %q, want the constant text", text)
			}
		})
	}
	if text, correctable := redact.Status(doc, nil, nil); text != "" || correctable {
		t.Errorf("no status at all: %q, %v", text, correctable)
	}
}

// refused is a status INVALID_ARGUMENT with details.
func refused(t testing.TB, message string, details ...proto.Message) *status.Status {
	t.Helper()
	s := status.New(codes.InvalidArgument, message)
	for _, d := range details {
		var err error
		if s, err = s.WithDetails(protoadapt.MessageV1Of(d)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func field(path, description string) *errdetails.BadRequest {
	return &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: path, Description: description}}}
}

func element(name string, number int32) *validate.FieldPathElement {
	return &validate.FieldPathElement{FieldName: proto.String(name), FieldNumber: proto.Int32(number)}
}

func violations(list ...*validate.Violation) *validate.Violations {
	return &validate.Violations{Violations: list}
}

func TestStatus_renders(t *testing.T) {
	doc := order(t)
	const arguments = `{"orderId":"A-17","labels":{"evil":"gold"},"items":[{"skuCode":"SKU1"}],"secret":"hunter2"}`
	indexed := element("items", 2)
	indexed.Subscript = &validate.FieldPathElement_Index{Index: 3}
	keyed := element("labels", 3)
	keyed.Subscript = &validate.FieldPathElement_StringKey{StringKey: "evil"}
	for _, tt := range []struct {
		name string
		give *status.Status
		want string
	}{
		{"the message alone", refused(t, "no A-17"), "no {orderId}"},
		{"a localized message wins", refused(t, "no A-17", &errdetails.LocalizedMessage{Locale: "de", Message: "A-17 gibt es nicht"}), "{orderId} gibt es nicht"},
		{"the first of several localized messages", refused(t, "no", &errdetails.LocalizedMessage{Message: "nein"}, &errdetails.LocalizedMessage{Message: "non"}), "nein"},
		{"a blank localized message does not win", refused(t, "no A-17", &errdetails.LocalizedMessage{Message: " \n"}, &errdetails.LocalizedMessage{Message: "nein"}), "nein"},
		{"only blank localized messages", refused(t, "no A-17", &errdetails.LocalizedMessage{Message: " "}), "no {orderId}"},
		{"a violation", refused(t, "invalid", field("order_id", "A-17 is taken")), "invalid\n- orderId: {orderId} is taken"},
		{"a violation without a message", refused(t, "", field("order_id", "is taken")), "The service refused the arguments as invalid.\n- orderId: is taken"},
		{"a violation's localized message wins", refused(t, "invalid", &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "order_id", Description: "taken", LocalizedMessage: &errdetails.LocalizedMessage{Message: "A-17 ist vergeben"}},
		}}), "invalid\n- orderId: {orderId} ist vergeben"},
		{"a violation with a reason alone", refused(t, "invalid", &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "order_id", Reason: "TAKEN"},
		}}), "invalid\n- orderId: TAKEN"},
		{"a violation without words", refused(t, "invalid", field("order_id", " ")), "invalid\n- orderId: is not accepted"},
		{"a violation of nothing published", refused(t, "invalid", field("internal_note", "SKU1 is taken")), "invalid\n- {items[].skuCode} is taken"},
		{"a violation of nothing published without words", refused(t, "invalid", field("internal_note", "")), "invalid"},
		{"a key of the caller's in the path", refused(t, "invalid", field(`labels["evil"]`, "evil is no label")), "invalid\n- labels.{key}: {labels.{key}} is no label"},
		{"an unknown path is not repeated", refused(t, "invalid", field("evil.hunter2", "no")), "invalid\n- no"},
		{"equal violations are one", refused(t, "invalid", field("items[0].sku_code", "no"), field("items[1].sku_code", "no")), "invalid\n- items[].skuCode: no"},
		{"violations that became equal are one", refused(t, "invalid", field("order_id", "not A-17"), field("order_id", "not a-17")), "invalid\n- orderId: not {orderId}"},
		{"line ends in a description", refused(t, "a\nb", field("order_id", "one\n- secret: two")), "a b\n- orderId: one - secret: two"},
		{"a sensitive value in a description", refused(t, "invalid", field("secret", "xhunter2 is weak")), "invalid\n- secret: {secret} is weak"},
		{"protovalidate's violations", refused(t, "invalid", violations(
			&validate.Violation{Field: &validate.FieldPath{Elements: []*validate.FieldPathElement{indexed, element("sku_code", 1)}}, RuleId: proto.String("string.min_len"), Message: proto.String("must be at least 3 characters")},
			&validate.Violation{Field: &validate.FieldPath{Elements: []*validate.FieldPathElement{keyed}}, ForKey: proto.Bool(true), Message: proto.String("must not be evil")},
			&validate.Violation{Field: &validate.FieldPath{Elements: []*validate.FieldPathElement{keyed}}, RuleId: proto.String("my.rule")},
			&validate.Violation{RuleId: proto.String("order.consistent"), Message: proto.String("the order A-17 is not consistent")},
		)), "invalid\n- items[].skuCode: must be at least 3 characters\n- labels.{key}: each key: must not be {labels.{key}}\n- labels.{key}: my.rule\n- the order {orderId} is not consistent"},
		{"both kinds of violations", refused(t, "invalid", field("order_id", "no"), violations(&validate.Violation{Message: proto.String("nor this")})), "invalid\n- orderId: no\n- nor this"},
		{"other details are not shown", refused(t, "invalid",
			&errdetails.ErrorInfo{Reason: "R", Domain: "d", Metadata: map[string]string{"k": "v"}}, &errdetails.Help{Links: []*errdetails.Help_Link{{Description: "h", Url: "u"}}},
			&errdetails.DebugInfo{Detail: "stack"}, &errdetails.ResourceInfo{ResourceName: "r"}, &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Description: "p"}}},
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Description: "q"}}}, &errdetails.RequestInfo{RequestId: "id"}), "invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := redact.Status(doc, []byte(arguments), tt.give); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
	t.Run("details that cannot be read", func(t *testing.T) {
		p := refused(t, "invalid").Proto()
		for _, name := range []string{"google.rpc.BadRequest", "google.rpc.LocalizedMessage", "buf.validate.Violations", "no.such.Type"} {
			p.Details = append(p.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + name, Value: []byte{0xff, 0xff}})
		}
		if got, _ := redact.Status(doc, []byte(arguments), status.FromProto(p)); got != "invalid" {
			t.Errorf("got %q", got)
		}
	})
}

func TestStatus_mapsPaths(t *testing.T) {
	doc := order(t)
	for _, tt := range []struct{ name, path, want string }{
		{"a proto name", "order_id", "orderId"},
		{"a JSON name", "orderId", "orderId"},
		{"the published name of a renamed field", "shown-as", "shown-as"},
		{"the proto name of a renamed field", "renamed_field", "shown-as"},
		{"the JSON name of a renamed field", "renamedField", "shown-as"},
		{"the name in generated code", "OrderId", "orderId"},
		{"an index", "items[0].sku_code", "items[].skuCode"},
		{"an index in JSON names", "items[12].skuCode", "items[].skuCode"},
		{"an index as a name", "items.0.sku_code", "items[].skuCode"},
		{"an index left out", "items.sku_code", "items[].skuCode"},
		{"an index at the end", "tags[2]", "tags[]"},
		{"the whole array", "items", "items"},
		{"a key in quotes", `labels["k"]`, "labels.{key}"},
		{"a key in single quotes", `labels['k']`, "labels.{key}"},
		{"a key with brackets and dots", `items[0].parts["a].b\"["].quantity`, "items[].parts.{key}.quantity"},
		{"a key without quotes", `by_number[7]`, "byNumber.{key}"},
		{"a key as a name", "labels.k", "labels.{key}"},
		{"the whole map", "labels", "labels"},
		{"through a recursive message", "parent.parent.items[1].quantity", "parent.parent.items[].quantity"},
		{"into a wrapper", "note.value", "note"},
		{"into a timestamp", "placed_at.seconds", "placedAt"},
		{"into a Struct", `extra.fields["evil"].string_value`, "extra"},
		{"into an Any", "detail.sku_code", "detail"},
		{"white space around", " order_id ", "orderId"},
		{"nothing", "", ""},
		{"an unknown name", "evil", ""},
		{"an unknown name within", "items[0].evil", ""},
		{"a hidden field", "internal_note", ""},
		{"a oneof", "target", ""},
		{"an index of what is no array", "order_id[0]", "orderId"},
		{"an index of a message", "parent[0].order_id", ""},
		{"an index of nothing", "[0].order_id", ""},
		{"a bracket that does not close", `labels["k`, ""},
		{"two dots", "parent..order_id", ""},
		{"a dot at the end", "parent.", ""},
		{"far too deep", strings.Repeat("parent.", 300) + "order_id", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := "invalid\n- no"
			if tt.want != "" {
				want = "invalid\n- " + tt.want + ": no"
			}
			if got, _ := redact.Status(doc, nil, refused(t, "invalid", field(tt.path, "no"))); got != want {
				t.Errorf("%q: got %q, want %q", tt.path, got, want)
			}
		})
	}
	t.Run("no document", func(t *testing.T) {
		got, _ := redact.Status(nil, []byte(`{"a":"A-17"}`), refused(t, "no A-17", field("a", "no")))
		if want := "no {arguments}\n- no"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("a request that is an open object", func(t *testing.T) {
		doc := document(t, `message M { google.protobuf.Struct s = 1; }`)
		got, _ := redact.Status(doc, nil, refused(t, "no", field("s.fields", "no")))
		if want := "no\n- s: no"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestStatus_isBounded(t *testing.T) {
	doc := order(t)
	t.Run("a long message", func(t *testing.T) {
		got, _ := redact.Status(doc, nil, refused(t, strings.Repeat("wörd ", 1000)))
		if n := utf8.RuneCountInString(got); n > redact.MaxMessage || n < redact.MaxMessage-10 || !strings.HasSuffix(got, "wörd wörd…") {
			t.Errorf("%d characters, ending in %q", n, got[len(got)-20:])
		}
	})
	t.Run("a message that is one endless word", func(t *testing.T) {
		got, _ := redact.Status(doc, nil, refused(t, strings.Repeat("a", 100_000)))
		if got != redact.Text(codes.InvalidArgument) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a value longer than what is read", func(t *testing.T) {
		long := strings.Repeat("abcdefghij", 1000)
		got, _ := redact.Status(doc, []byte(`{"orderId":"`+long+`"}`), refused(t, "no "+long+" found"))
		if got != "no {orderId}…" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a value at the end of what is read", func(t *testing.T) {
		for cut := 1; cut < 40; cut++ {
			before := strings.Repeat("x ", (2*redact.MaxMessage-cut)/2) // the value begins cut characters before the end
			got, _ := redact.Status(doc, []byte(`{"orderId":"qwertzuiopasdfghjklyxcvbnm","tags":["x"]}`), refused(t, before+"qwertzuiopasdfghjklyxcvbnm"))
			if strings.ContainsAny(got, "q") || utf8.RuneCountInString(got) > redact.MaxMessage {
				t.Fatalf("cut %d: got %q", cut, got)
			}
		}
	})
	t.Run("a value at the end of what is shown", func(t *testing.T) {
		for cut := 1; cut < 40; cut++ {
			before := strings.Repeat("x", redact.MaxMessage-1-cut) + " "
			got, _ := redact.Status(doc, []byte(`{"orderId":"A-17 B-18"}`), refused(t, before+"A-17 B-18x A-17 B-18 and more"))
			if strings.Contains(got, "A-17 B-18 ") || strings.HasSuffix(got, "A-17 B-18…") || utf8.RuneCountInString(got) > redact.MaxMessage {
				t.Fatalf("cut %d: got %q", cut, got[len(got)-40:])
			}
		}
	})
	t.Run("many violations", func(t *testing.T) {
		bad := &errdetails.BadRequest{}
		for i := range 25 {
			for range 2 { // each twice
				bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: "order_id", Description: fmt.Sprintf("reason %c", 'a'+i)})
			}
		}
		got, _ := redact.Status(doc, nil, refused(t, "invalid", bad))
		lines := strings.Split(got, "\n")
		if len(lines) != 12 || lines[1] != "- orderId: reason a" || lines[10] != "- orderId: reason j" || lines[11] != "and 15 more" {
			t.Errorf("got %q", lines)
		}
	})
	t.Run("a long description", func(t *testing.T) {
		got, _ := redact.Status(doc, nil, refused(t, "invalid", field("order_id", strings.Repeat("word ", 1000))))
		if n := utf8.RuneCountInString(got); n > redact.MaxDescription+len("invalid\n- orderId: ") || !strings.HasSuffix(got, "…") {
			t.Errorf("%d characters", n)
		}
	})
}
