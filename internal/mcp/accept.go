package mcp

import (
	"strings"
)

const eventStream = "text/event-stream"

// acceptsEvents says whether the values of a request's Accept headers list text/event-stream by its name (RFC 9110,
// 12.5.1). A range such as */* does not: who names JSON alone and takes anything else too is answered with JSON. A weight
// of 0 excludes the type, wherever it stands beside other weights.
func acceptsEvents(values []string) bool {
	listed := false
	for _, rest := range values {
		for rest != "" {
			var item string
			item, rest = cutUnquoted(rest, ',')
			name, parameters := cutUnquoted(item, ';')
			if !strings.EqualFold(strings.Trim(name, " \t"), eventStream) {
				continue
			}
			switch weight(parameters) {
			case excluded:
				return false
			case wanted:
				listed = true
			}
		}
	}
	return listed
}

// What the weight of an Accept header's item says.
const (
	malformed = iota
	excluded
	wanted
)

// weight finds the weight among the parameters of a media range; without one the range is wanted.
func weight(parameters string) int {
	for parameters != "" {
		var one string
		one, parameters = cutUnquoted(parameters, ';')
		name, value, _ := strings.Cut(one, "=")
		if !strings.EqualFold(strings.Trim(name, " \t"), "q") {
			continue
		}
		whole, fraction, _ := strings.Cut(strings.Trim(value, " \t"), ".")
		switch {
		case len(fraction) > 3 || strings.Trim(fraction, "0123456789") != "":
			return malformed
		case whole == "0" && strings.Trim(fraction, "0") == "":
			return excluded
		case whole == "0" || whole == "1" && strings.Trim(fraction, "0") == "":
			return wanted
		}
		return malformed
	}
	return wanted
}

// cutUnquoted cuts text around the first separator that is not within a quoted string.
func cutUnquoted(text string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}
