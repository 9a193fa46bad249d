package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/environ"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
)

// TokenVariable has the token between evalctl and the daemon, which is not a provider's. With a
// suffix, it has the token of another tenant or role.
const TokenVariable = "SVC_TOKEN"

// The variables that configure the tools of model providers.
const (
	openAIKey = "OPENAI_API_KEY"
	openAIURL = "OPENAI_BASE_URL"
	ollamaURL = "OLLAMA_HOST"
	embedKey  = "SVC_EMBED_API_KEY"
	rerankKey = "SVC_RERANK_API_KEY"
)

// Free reports whether a variable is free of charge although it looks like a credential: the
// daemon's token and the address of an ollama.
func Free(name string) bool { return name == TokenVariable || name == ollamaURL }

// Metered are the variables that point a daemon to its gateways, so that its spending is counted.
var Metered = []string{openAIKey, openAIURL, embedKey, "SVC_EMBED_BASE_URL"}

// ours are the beginnings of the variables that configure evalctl and not a daemon.
var ours = []string{"SVC_EVAL_", "SVC_SDK_", "SVC_TOKEN_", "SVC_QUEUE", "SVC_RESULT_KEY", "SVC_CACHE_DIR", "SVC_NOTIFY_URL"}

// PassedTo returns the names of the variables that what is started for a target gets besides those
// that every program gets: what the user passes on, and for a daemon of the protocol what configures
// it. needed are further names that its models need.
func (t Targets) PassedTo(d target.Definition, needed []string) []string {
	names := slices.Clone(t.Passed)
	if !d.Configured() {
		return names
	}
	store := Environment(t.Env, d)("SVC_STORE")
	for _, variable := range t.Environ {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(names, name) {
			continue
		}
		if configures(name) || slices.Contains(needed, name) || postgres.IsURL(store) && isPostgres(name) {
			names = append(names, name)
		}
	}
	return names
}

// values returns the variables with these names as NAME=VALUE.
func (t Targets) values(names []string) (env []string) {
	for _, variable := range t.Environ {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(names, name) {
			env = append(env, variable)
		}
	}
	return env
}

// configures reports whether a variable configures a daemon of the protocol and is not a key.
func configures(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return name == TokenVariable ||
		begins("SVC_") && !slices.ContainsFunc(ours, begins) && !environ.LooksSecret(name) && !strings.HasSuffix(name, "_PASSPHRASE")
}

// isPostgres reports whether a variable locates a PostgreSQL database. A password must be named
// explicitly.
func isPostgres(name string) bool {
	return strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, "PGPASSWORD")
}

// modelVariables returns the variables that a daemon's models need: the addresses of their
// providers, and keys for daemons only. env looks up the daemon's environment, and provider is its
// completion provider. A provider's key is not included; the user must name it.
func modelVariables(env func(string) string, provider string) (names []string) {
	embedding := env("SVC_EMBED_PROVIDER")
	for _, p := range []string{provider, embedding} {
		switch p {
		case llm.ProviderOpenAI:
			names = append(names, openAIURL)
		case llm.ProviderOllama:
			names = append(names, ollamaURL)
		}
	}
	if embedding != "" {
		names = append(names, embedKey)
	}
	if env("SVC_RERANK_PROVIDER") == llm.RerankHTTP {
		names = append(names, rerankKey)
	}
	return names
}

// DaemonEnv describes the environment of a session's process for results. passed are the names that
// it receives besides those in its mapping.
func (t Targets) DaemonEnv(s harness.SessionConfig, passed []string) *result.DaemonEnv {
	passed = slices.Concat(passed, s.Described.Variables())
	env := &result.DaemonEnv{Withheld: []string{}, Passed: []string{}, HomeOfUser: s.HomeOfUser}
	for _, variable := range t.Environ {
		name, value, _ := strings.Cut(variable, "=")
		secret := environ.LooksSecret(name) || strings.HasPrefix(name, TokenVariable+"_")
		switch {
		case value == "", name == TokenVariable && !slices.Contains(t.Passed, name):
		case slices.Contains(passed, name) && (slices.Contains(t.Passed, name) || secret && !Free(name)):
			env.Passed = append(env.Passed, name)
		case secret && !slices.Contains(passed, name):
			env.Withheld = append(env.Withheld, name)
		}
	}
	slices.Sort(env.Withheld)
	slices.Sort(env.Passed)
	return env
}

// CheckPassed returns an error for a variable named by a flag that is not set.
func CheckPassed(environ, passed []string, flag string) error {
	for _, name := range passed {
		if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			return fmt.Errorf("%s %s: the variable is not set", flag, name)
		}
	}
	return nil
}

// missingKey returns the name of a key that is set and that a started daemon needs for a completion
// provider but does not receive, "" for none. passed are the variables it receives.
func (t Targets) missingKey(d target.Definition, provider string, passed []string) string {
	_, set := assigned(d.Profile.Env, openAIKey)
	if d.Endpoint != "" || !d.Configured() || provider != llm.ProviderOpenAI || set || t.Env(openAIKey) == "" || slices.Contains(passed, openAIKey) {
		return ""
	}
	return openAIKey
}

// Hint names a key that the target's daemon probably needs but does not receive, "" for none.
// provider is its completion provider.
func (t Targets) Hint(d target.Definition, provider string, passed []string) string {
	name := cmp.Or(t.missingKey(d, provider, passed), t.missingEmbedKey(d, passed))
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s is set, and the daemon does not get it: started programs get no key that is not named. "+
		"If the daemon needs it, add --daemon-env %[1]s", name)
}

// missingEmbedKey is missingKey for embeddings. A separate embedding key takes precedence, and the
// completion key is sent only to the completion server.
func (t Targets) missingEmbedKey(d target.Definition, passed []string) string {
	env := Environment(t.Env, d)
	if base := env("SVC_EMBED_BASE_URL"); env(embedKey) != "" || base != "" && base != env(openAIURL) {
		return ""
	}
	return t.missingKey(d, env("SVC_EMBED_PROVIDER"), passed)
}
