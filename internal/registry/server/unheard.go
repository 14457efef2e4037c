package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// hear refuses REST requests that say something where the gateway does not hear it: in the query where fields are in
// the body, in a body where they are in the query, or once more and otherwise than the path. What is not heard would be
// as if it were not said, and the platform that names an organization so would work on its own.
func hear(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, path map[string]string) {
		var err error
		if r.Method == http.MethodPost {
			err = hearPost(r, path)
		} else if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
			err = fmt.Errorf("the body of a %s is not read: what the request says goes into the query", r.Method)
		}
		if err != nil {
			runtime.DefaultHTTPErrorHandler(r.Context(), hearing(), restMarshaler, w, r, status.Error(codes.InvalidArgument, err.Error()))
			return
		}
		next(w, r, path)
	}
}

// hearPost judges a request whose fields are in its path and its body. What is wrong with the body itself is the
// gateway's to say.
func hearPost(r *http.Request, path map[string]string) error {
	if r.URL.RawQuery != "" {
		return errors.New("the query of a POST is not read: what the request says goes into the body")
	}
	if len(path) == 0 {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var said map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&said) != nil {
		return nil
	}
	for key, raw := range said {
		for field, value := range path {
			var text string
			if spelledAlike(key, field) && json.Unmarshal(raw, &text) == nil && text != "" && text != value {
				return contradicts(key, text, value)
			}
		}
	}
	return nil
}

// spelledAlike reports whether a key of JSON may be a field, by its name or by its name in JSON.
func spelledAlike(key, field string) bool {
	return strings.EqualFold(strings.ReplaceAll(key, "_", ""), strings.ReplaceAll(field, "_", ""))
}

func contradicts(key, said, path string) error {
	return fmt.Errorf("%s is %q, but %q in the path: say it there alone", key, said, path)
}

// hearing lets the gateway refuse what is in queries and in no request, which is a setting of the process, and gives a
// mux for refusals.
var hearing = sync.OnceValue(func() *runtime.ServeMux { return runtime.NewServeMux(runtime.SetQueryParameterParser(queries{})) })

// queries reads queries as the gateway does, and refuses what it would pass over.
type queries struct{ runtime.DefaultQueryParser }

// Parse implements runtime.QueryParameterParser. The fields of the path, which are in the filter, are in the message
// already.
func (q queries) Parse(to proto.Message, values url.Values, path *utilities.DoubleArray) error {
	m := to.ProtoReflect()
	for key, said := range values {
		name, _, _ := strings.Cut(key, ".")
		name, _, _ = strings.Cut(name, "[")
		fields := m.Descriptor().Fields()
		field := fields.ByTextName(name)
		if field == nil {
			field = fields.ByJSONName(name)
		}
		if field == nil {
			return fmt.Errorf("the request has no field %q", key)
		}
		if !path.HasCommonPrefix([]string{string(field.Name())}) {
			continue
		}
		for _, text := range said {
			if value := m.Get(field).String(); text != value {
				return contradicts(key, text, value)
			}
		}
	}
	return q.DefaultQueryParser.Parse(to, values, path)
}
