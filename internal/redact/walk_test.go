package redact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/redact"
)

func TestValues(t *testing.T) {
	doc := order(t)
	kinds := map[redact.Kind]string{redact.String: "string", redact.Number: "number", redact.Key: "key"}
	for _, tt := range []struct {
		name, arguments string
		want            []string // kind path=text, with ! for sensitive and * for what has no node
	}{
		{"nothing", `{}`, nil},
		{"no arguments", ``, nil},
		{"white space", " \n", nil},
		{"null", `null`, nil},
		{"a string", `{"orderId":"a\u0062\n"}`, []string{"string orderId=ab\n"}},
		{"a number", `{"count":1e2}`, []string{"number count=1e2"}},
		{"no booleans and no null", `{"urgent":true,"anyValue":null}`, nil},
		{"arrays", `{"tags":["a","b"],"items":[{"quantity":1}]}`, []string{"string tags[]=a", "string tags[]=b", "number items[].quantity=1"}},
		{"maps", `{"labels":{"k":"v"}}`, []string{"key labels.{key}=k", "string labels.{key}=v"}},
		{"maps with boolean keys", `{"flags":{"true":"v"}}`, []string{"string flags.{key}=v"}},
		{"enum values", `{"state":"ACTIVE"}`, []string{"string state=ACTIVE"}},
		{"sensitive fields", `{"card":{"number":"n"},"pin":1,"orderId":"o"}`, []string{"string card.number=n!", "number pin=1!", "string orderId=o"}},
		{"open values", `{"extra":{"k":[1,{"l":"v"}]},"list":["w"]}`, []string{"key extra.{key}=k*", "number extra=1*", "key extra.{key}=l*", "string extra=v*", "string list=w*"}},
		{"an Any", `{"detail":{"@type":"type.googleapis.com/t.v1.Card","number":"n"}}`, []string{"string detail.number=n"}},
		{"an Any whose type comes last", `{"detail":{"number":"n","@type":"type.googleapis.com/t.v1.Card"}}`, []string{"string detail.number=n"}},
		{"an Any in an Any", `{"detail":{"value":{"number":"n","@type":"type.googleapis.com/t.v1.Card"},"@type":"type.googleapis.com/google.protobuf.Any"}}`, []string{"string detail.value.number=n"}},
		{"an Any with a sensitive field", `{"detail":{"@type":"type.googleapis.com/t.v1.M","pin":7}}`, []string{"number detail.pin=7!"}},
		{"an Any without a type", `{"detail":{"number":"n"}}`, []string{"key detail.{key}=number*", "string detail=n*"}},
		{"what is not declared", `{"nope":{"a":1}}`, []string{"key {key}=nope*", "key {key}=a*", "number arguments=1*"}},
		{"what has another shape", `{"orderId":{"a":["b"]},"count":"c"}`, []string{"key orderId.{key}=a*", "string orderId=b*", "string count=c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := redact.Values(doc, []byte(tt.arguments), func(v *redact.Value) bool {
				line := fmt.Sprintf("%s %s=%s", kinds[v.Kind], v.Path(), v.Text)
				if v.Sensitive {
					line += "!"
				}
				if v.Node == nil {
					line += "*"
				}
				got = append(got, line)
				return true
			})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v\n got %q\nwant %q", err, got, tt.want)
			}
		})
	}
}

func TestValues_stops(t *testing.T) {
	count := 0
	err := redact.Values(order(t), []byte(`{"tags":["a","b","c"]}`), func(*redact.Value) bool {
		count++
		return count < 2
	})
	if err != nil || count != 2 {
		t.Errorf("%d values, %v", count, err)
	}
}

func TestValues_failsOnWhatIsNoJSON(t *testing.T) {
	for _, arguments := range []string{`{`, `{"tags":["a"`, `{"tags":[}`, `{"detail":{"a"`, `{"detail":{"@type":`, `nope`, `{1:2}`, strings.Repeat("[", 20_000)} {
		if err := redact.Values(order(t), []byte(arguments), func(*redact.Value) bool { return true }); err == nil {
			t.Errorf("%.20q: no error", arguments)
		}
	}
}
