package plan

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Withhold says which variables of environ, a list of NAME=VALUE, are kept back from a started
// daemon, because it could spend money with them. passed are the names that the user passes on, and
// needed those that evalctl's configuration of the daemon requires.
func Withhold(environ, passed, needed []string) (*result.DaemonEnv, error) {
	if err := checkSet(environ, passed, "--daemon-env"); err != nil {
		return nil, err
	}
	env := &result.DaemonEnv{Withheld: []string{}, Passed: []string{}}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case value == "": // which says nothing
		case name == TokenVariable || !launch.LooksSecret(name) && !strings.HasPrefix(name, TokenVariable+"_"):
		case slices.Contains(OllamaVariables, name) && slices.Contains(needed, name): // which costs nothing
		case slices.Contains(passed, name), slices.Contains(needed, name):
			env.Passed = append(env.Passed, name)
		default:
			env.Withheld = append(env.Withheld, name)
		}
	}
	slices.Sort(env.Withheld)
	slices.Sort(env.Passed)
	return env, nil
}

// WithholdFromScorer returns the variables of environ that are kept back from a scorer of the user's
// own: those of credentials and providers, and tokens of daemons. passed are the names that the user
// passes on.
func WithholdFromScorer(environ, passed []string) (withheld []string, err error) {
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		secret := launch.LooksSecret(name) || name == TokenVariable || strings.HasPrefix(name, TokenVariable+"_")
		if secret && !slices.Contains(passed, name) {
			withheld = append(withheld, name)
		}
	}
	return withheld, checkSet(environ, passed, "--scorer-env")
}

// checkSet returns an error for a variable that the flag passes on and that is not set.
func checkSet(environ, passed []string, flag string) error {
	for _, name := range passed {
		if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			return fmt.Errorf("%s %s: the variable is not set", flag, name)
		}
	}
	return nil
}

// TokenVariable has the token between evalctl and the daemon, which is no provider's. With an
// ending, it has those of other tenants and roles.
const TokenVariable = "SVC_TOKEN"

// The variables with which the tools of model providers are configured.
var (
	OpenAIVariables = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	OllamaVariables = []string{"OLLAMA_HOST"}
	EmbedVariables  = []string{"SVC_EMBED_API_KEY", "SVC_EMBED_BASE_URL"}
	RerankVariables = []string{"SVC_RERANK_API_KEY", "SVC_RERANK_BASE_URL"}
)

// ProviderVariables returns the variables that the models of these providers need.
func ProviderVariables(providers ...string) (names []string) {
	for _, p := range providers {
		switch p {
		case llm.ProviderOpenAI:
			names = append(names, OpenAIVariables...)
		case llm.ProviderOllama:
			names = append(names, OllamaVariables...)
		}
	}
	return names
}
