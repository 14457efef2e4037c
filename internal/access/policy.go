package access

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"github.com/go-json-experiment/json/jsontext"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/memory"
	"github.com/sallyport-dev/sallyport/participant"
)

// Limits of one policy: the code points of its text, what CEL reckons that one evaluation may cost, which is some
// milliseconds, and how many elements the values of one evaluation may have, which bounds what CEL reckons too low, such as
// lists of lists that are compared. The second holds for the worst case, when the policy is compiled, and for each
// evaluation.
const (
	maxPolicy       = 4096
	maxPolicyCost   = 100_000
	maxPolicyMemory = 10_000
)

// What the worst case is reckoned with. A participant has at most 4 KiB, so that a list in it has many entries or long
// ones, but not both. Arguments may be larger than that; a policy that costs too much with those of a call refuses it.
const (
	reckonedText      = participant.MaxBytes
	reckonedList      = participant.MaxBytes / 2
	reckonedEntry     = 64
	reckonedArguments = 1000
)

// environment is what a policy can name (access.md, "Access rules on a tool"): the participant, the facts of the tool,
// and, where a call is decided, its arguments. Each fact of the tool is a variable of its own, so that a misspelt one is
// found when the policy is compiled.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.ParserExpressionSizeLimit(maxPolicy),
		cel.Types(&participantv1.Participant{}, &toolv1.Weight{}),
		cel.Variable("participant", cel.ObjectType("sallyport.participant.v1.Participant")),
		cel.Variable("tool.name", cel.StringType),
		cel.Variable("tool.function", cel.StringType),
		cel.Variable("tool.zone", cel.StringType),
		cel.Variable("tool.hints.read_only", cel.BoolType),
		cel.Variable("tool.hints.destructive", cel.BoolType),
		cel.Variable("tool.hints.idempotent", cel.BoolType),
		cel.Variable("tool.hints.open_world", cel.BoolType),
		cel.Variable("tool.weight", cel.ObjectType("sallyport.tool.v1.Weight")),
		cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)),
	)
})

// policy is a compiled policy. It is immutable.
type policy struct {
	text    string
	program cel.Program
	// arguments and tool say whether it reads them.
	arguments, tool bool
	reads           []Read
}

// policies remembers compiled policies by their texts: most tools of a contract that has one have the same.
var policies = memory.New[policy](1024)

func compilePolicy(text string) (*policy, error) {
	hash := policies.Hash(text)
	if known := policies.Find(hash, func(p *policy) bool { return p.text == text }); known != nil {
		return known, nil
	}
	p, err := newPolicy(text)
	if err != nil {
		return nil, err
	}
	policies.Keep(hash, p, func(*policy) bool { return false })
	return p, nil
}

func newPolicy(text string) (p *policy, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("compiling it panicked: %v", r)
		}
	}()
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("build the policy environment: %w", err)
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		var problems []string
		for _, e := range issues.Errors() {
			// CEL counts columns from 0.
			problems = append(problems, fmt.Sprintf("at %d:%d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
		}
		return nil, errors.New(strings.Join(problems, "; "))
	}
	if checked.OutputType() != cel.BoolType && checked.OutputType() != cel.DynType {
		return nil, fmt.Errorf("it gives %s, not a boolean", checked.OutputType())
	}
	if err := checkPatterns(checked.NativeRep()); err != nil {
		return nil, err
	}
	worst, err := env.EstimateCost(checked, estimator{})
	if err != nil {
		return nil, fmt.Errorf("reckon its cost: %w", err)
	}
	if worst.Max > maxPolicyCost {
		most := fmt.Sprint(worst.Max)
		if worst.Max == math.MaxUint64 {
			most = "without bound"
		}
		return nil, fmt.Errorf("one evaluation may cost too much: CEL reckons %s at worst, and %d is the limit; nested loops "+
			"and texts that grow in a loop cost most", most, maxPolicyCost)
	}
	p = &policy{text: text, reads: readsOf(checked.NativeRep())}
	for _, r := range checked.NativeRep().ReferenceMap() {
		name := strings.TrimPrefix(r.Name, ".")
		p.arguments = p.arguments || name == "arguments"
		p.tool = p.tool || strings.HasPrefix(name, "tool.")
	}
	p.program, err = env.Program(checked, cel.CostLimit(maxPolicyCost), cel.MemoryLimit(maxPolicyMemory), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return p, nil
}

// checkPatterns refuses patterns that are not written out: what a short pattern of a caller's may cost is not bounded by
// its length.
func checkPatterns(checked *ast.AST) error {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(checked), ast.FunctionMatcher("matches")) {
		arguments := call.AsCall().Args()
		if pattern := arguments[len(arguments)-1]; pattern.Kind() != ast.LiteralKind {
			return errors.New("the pattern of matches is not a text in quotes: write it out")
		}
	}
	return nil
}

// estimator reckons how large what a policy names may be.
type estimator struct{}

func (estimator) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	path := n.Path()
	if len(path) == 0 {
		return nil
	}
	size := uint64(reckonedText)
	switch {
	case path[0] == "arguments":
		size = reckonedArguments
	case path[len(path)-1] == "@items":
		size = reckonedEntry
	case n.Type() != nil && n.Type().Kind() == types.ListKind:
		size = reckonedList
	}
	return &cost.SizeEstimate{Min: 0, Max: size}
}

func (estimator) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil // CEL's own
}

// holds evaluates the policy. Whatever goes wrong, it does not hold, and failed says that something did.
func (p *policy) holds(a *activation) (holds, failed bool) {
	defer func() {
		if recover() != nil {
			holds, failed = false, true
		}
	}()
	result, _, err := p.program.Eval(a)
	if err != nil {
		return false, true
	}
	_, isCondition := result.(types.Bool)
	return result == types.True, !isCondition
}

// activation is what one evaluation reads.
type activation struct {
	participant *participant.Participant
	tool        *Facts
	// arguments is nil where there are none: a policy that reads them fails then.
	arguments map[string]any
}

var noWeight = &toolv1.Weight{}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "participant":
		return a.participant, true
	case "arguments":
		return a.arguments, a.arguments != nil
	case "tool.name":
		return a.tool.Name, true
	case "tool.function":
		return a.tool.Function, true
	case "tool.zone":
		return a.tool.Zone, true
	case "tool.hints.read_only":
		return a.tool.ReadOnly, true
	case "tool.hints.destructive":
		return a.tool.Destructive, true
	case "tool.hints.idempotent":
		return a.tool.Idempotent, true
	case "tool.hints.open_world":
		return a.tool.OpenWorld, true
	case "tool.weight":
		if a.tool.Weight == nil {
			return noWeight, true
		}
		return a.tool.Weight, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }

// maxDepth bounds how deep arguments may be nested. The decoder at the boundary has a lower limit of its own.
const maxDepth = 1000

// decode reads arguments as CEL knows them.
func decode(arguments []byte) (map[string]any, error) {
	value := jsontext.Value(arguments)
	if !value.IsValid() {
		return nil, errors.New("the arguments are not JSON")
	}
	d := jsontext.NewDecoder(strings.NewReader(string(arguments)))
	decoded, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not an object")
	}
	return object, nil
}

func decodeValue(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("the arguments are nested too deep")
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return types.NullValue, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	default:
		object := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String() // before the next token is read
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			object[key] = v
		}
		_, err := d.ReadToken()
		return object, err
	}
}

// number reads a JSON number: an integer where it is spelled as one and fits 64 bits, else a double. CEL compares the
// two by value.
func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return u, nil
		}
	}
	return strconv.ParseFloat(text, 64)
}
