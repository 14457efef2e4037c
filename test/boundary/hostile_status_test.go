package boundary_test

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A service that repeats whatever it was sent: in its status, in the status's details, in its trailers, and in
// responses that are none (boundary.md, "What a refusal says").

// Codes that the tool "fail" takes beside those of gRPC.
const (
	// garbled answers bytes that are no message.
	garbled = 100
	// grown answers fields that the contract does not have.
	grown = 101
	// withDetails, added to a code, says it all again in the status's details; localized in a LocalizedMessage alone.
	withDetails, localized = 200, 400
	// bare, added to a code, makes the message the canary and nothing else.
	bare = 600
	// spelled, added to a code, says it in other spellings: quoted, in capitals, in a URL, in JSON, cut, and joined.
	spelled = 800
)

// repeatTheCaller is the tool's implementation.
func repeatTheCaller(md protoreflect.MessageDescriptor) answerFunc {
	return func(ctx context.Context, call *seen) ([]byte, error) {
		m := dynamicpb.NewMessage(md)
		if err := proto.Unmarshal(call.wire, m); err != nil {
			return nil, err
		}
		get := func(name protoreflect.Name) protoreflect.Value { return m.Get(md.Fields().ByName(name)) }
		note, order, number := get("note").String(), get("order_id").String(), get("number").String()
		said := fmt.Sprintf("order '%s' of \"%s\" not found, number %s", order, note, number)
		get("labels").Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			said += fmt.Sprintf("; %s = %s", k, v)
			return true
		})
		// Trailers are the service's to its own callers; nothing of them goes further.
		if err := grpc.SetTrailer(ctx, metadata.Pairs("x-note", note, "x-note-bin", note, "x-key", order)); err != nil {
			return nil, err
		}
		code := get("code").Int()
		switch code {
		case garbled:
			return []byte("\xff\xff" + note), nil
		case grown:
			return protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), note), nil
		}
		switch code / 200 {
		case 3:
			said = note
		case 4:
			said = fmt.Sprintf("%q, %s, https://x.example/?order=%s, {\"note\":\"%s\"}, %s..., prefix_%s_suffix", note, strings.ToUpper(order),
				url.QueryEscape(order), note, note[:18], note)
		}
		s := status.New(codes.Code(code%200), said)
		var details []protoadapt.MessageV1
		switch code / 200 {
		case 1:
			details = []protoadapt.MessageV1{
				&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
					{Field: "order_id", Description: said}, {Field: "labels[\"" + order + "\"]", Description: note}, {Field: note, Description: order},
				}},
				&errdetails.ErrorInfo{Reason: note, Domain: order, Metadata: map[string]string{order: note}},
				&errdetails.DebugInfo{StackEntries: []string{note}, Detail: said},
				&errdetails.ResourceInfo{ResourceType: note, ResourceName: order, Owner: note, Description: said},
				&errdetails.Help{Links: []*errdetails.Help_Link{{Description: said, Url: "https://" + note}}},
				&errdetails.RequestInfo{RequestId: note, ServingData: order},
				&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Type: note, Subject: order, Description: said}}},
			}
		case 2:
			details = []protoadapt.MessageV1{&errdetails.LocalizedMessage{Locale: "en", Message: "There is no " + said}}
		}
		if len(details) > 0 {
			detailed, err := s.WithDetails(details...)
			if err != nil {
				return nil, err
			}
			s = detailed
		}
		return nil, s.Err()
	}
}

// constantTexts are what is said of the codes whose message is not for the caller, and to whom nothing internal happened.
var constantTexts = map[codes.Code]string{
	codes.Canceled:         "The call was cancelled before it was answered." + mayHaveRun,
	codes.DeadlineExceeded: "The service did not answer in time." + mayHaveRun,
	codes.Unavailable:      "The service is not available." + mayHaveRun,
}

const mayHaveRun = " The call may have run: check before you repeat it."

// spoken are the codes that carry the service's message, and whether other arguments may succeed after them: after those
// that speak of the arguments.
var spoken = map[codes.Code]bool{
	codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.OutOfRange: true,
	codes.FailedPrecondition: false, codes.Aborted: false, codes.ResourceExhausted: false, codes.PermissionDenied: false, codes.Unimplemented: false,
}

// inPlace is the service's message with the caller's values replaced by where they came from.
const inPlace = `order '{orderId}' of "{note}" not found, number {number}; {labels.{key}} = {labels.{key}}`

func statuses() []payload {
	const family = "statuses"
	var out []payload
	arguments := func(code int) string {
		return `{"note":"$V","code":` + strconv.Itoa(code) + `,"orderId":"$K","number":"$N","labels":{"L$N":"M$N"},"words":["W$N"]}`
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		w := want{Status: 200, ID: "1", Call: failed, Text: constantTexts[code]}
		switch code {
		case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
			w.Meta = `{"dev.sallyport/executed":"unknown"}`
		}
		for _, form := range []struct {
			name  string
			add   int
			words string
		}{
			{"", 0, inPlace},
			{" with details", withDetails, inPlace + "\n- orderId: " + inPlace + "\n- labels.{key}: {note}\n- {orderId}"},
			{" with a localized message", localized, "There is no " + inPlace},
			{" that is the canary", bare, "{note}"},
			{" in other spellings", spelled, `"{note}", {orderId}, https://x.example/?order={orderId}, {"note":"{note}"}, {note}..., {note}`},
		} {
			w := w
			if correctable, speaks := spoken[code]; speaks {
				w.Text, w.Meta = form.words, fmt.Sprintf(`{"dev.sallyport/correctable":%v}`, correctable)
			}
			out = append(out, rows(family, "fail", row{code.String() + form.name, arguments(int(code) + form.add), w})...)
		}
	}
	internal := want{Status: 200, ID: "1", Call: failed}
	return append(out, rows(family, "fail",
		row{"a code that gRPC does not have", arguments(99), internal},
		row{"a negative code", arguments(-1), internal},
		row{"bytes that are no message", arguments(garbled), internal},
		row{"fields that the contract does not have", arguments(grown), reached()},
	)...)
}

// repeatedResults are successful calls whose result is what was sent: the one place where a canary may be.
func repeatedResults() []payload {
	return rows("echoes", "echo",
		row{"text", `{"note":"$V"}`, reached()},
		row{"value", `{"note":"$V","anyJson":{"$K":["$V",$N,null,true,{"__proto__":"x"}]}}`, reached()},
		row{"text that looks like a result", `{"note":"$V\"}],\"isError\":true}}"}`, reached()},
		row{"markup and separators", `{"note":"$V<script>\u2028\u2029\ud83d\ude00\u007f"}`, reached()},
		row{"long", `{"note":"$V` + strings.Repeat("\u00e9", 100_000) + `"}`, reached()},
	)
}
