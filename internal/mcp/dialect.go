package mcp

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// dialectParameter is the query parameter that names a dialect, for hosts that cannot set `_meta`.
const dialectParameter = "dialect"

// chooseDialect finds the spelling that the caller reads (boundary.md, "Dialects"): what the request names in `_meta`,
// else what its URL names, else what is configured for the client, else the canonical one.
func (x *exchange) chooseDialect() *answer {
	if named := x.message.params.meta.dialect; named != nil {
		return x.takeDialect(string(unquoteString(named)))
	}
	if name, named := queriedDialect(x.r.URL.RawQuery); named {
		return x.takeDialect(name)
	}
	if len(x.h.options.Dialects) > 0 {
		x.dialect = x.clientDialect()
	}
	return nil
}

// queriedDialect finds the dialect in a query. One that cannot be read, or is named more than once, is blank, which is
// the name of none. What else stands in the query is of no concern here, readable or not.
func queriedDialect(query string) (name string, named bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != dialectParameter {
			continue
		}
		if named {
			return "", true
		}
		named = true
		name, _ = url.QueryUnescape(value) // blank on an error
	}
	return name, named
}

func (x *exchange) takeDialect(name string) *answer {
	d, ok := dialect.Parse(name)
	if !ok {
		a := x.fail(unknownDialect, lifecycle.Negotiation)
		if x.era.routed {
			a.status = http.StatusBadRequest
		}
		return a
	}
	x.dialect = d
	return nil
}

var unknownDialect = &problem{
	code:    codeInvalidParams,
	message: "Unknown dialect: the accepted ones are " + strings.Join(dialect.Names(), ", ") + ".",
}

// clientDialect is what is configured for the client by what it calls itself: in `_meta`, else the product of its
// User-Agent. Products have no blanks (RFC 9110, 10.1.5), but some clients' names do, so that all before the slash comes
// first.
func (x *exchange) clientDialect() dialect.Dialect {
	if info := x.message.params.meta.clientInfo; info.Kind() == '{' {
		if name := unquoteString(memberOf(info, "name")); name != nil {
			return x.h.options.Dialects[string(name)]
		}
	}
	name, _, _ := strings.Cut(x.r.UserAgent(), "/")
	if d, ok := x.h.options.Dialects[name]; ok {
		return d
	}
	product, _, _ := strings.Cut(name, " ")
	return x.h.options.Dialects[product]
}
