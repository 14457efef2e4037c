package contract

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Limits of one access policy: the code points of its text, and what CEL reckons that one evaluation may cost.
const (
	maxPolicy     = 4096
	maxPolicyCost = 100_000
)

// policyEnvironment is what a policy can name (access.md, "Access rules on a tool"): the participant, the facts of the
// tool, and, where a call is decided, its arguments. Each fact of the tool is a variable of its own, so that a
// misspelt one is found when the policy is compiled.
var policyEnvironment = sync.OnceValues(func() (*cel.Env, error) {
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

// checkPolicy says why a policy does not compile to a condition.
func checkPolicy(text string) error {
	env, err := policyEnvironment()
	if err != nil {
		return fmt.Errorf("build the policy environment: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		var problems []string
		for _, e := range issues.Errors() {
			// CEL counts columns from 0.
			problems = append(problems, fmt.Sprintf("at %d:%d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
		}
		return errors.New(strings.Join(problems, "; "))
	}
	if ast.OutputType() != cel.BoolType && ast.OutputType() != cel.DynType {
		return fmt.Errorf("it gives %s, not a boolean", ast.OutputType())
	}
	_, err = env.Program(ast, cel.CostLimit(maxPolicyCost))
	return err
}
