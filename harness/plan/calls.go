package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/gateway"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// Calls are the models that a started daemon calls, as far as its configuration says.
type Calls struct {
	// Models are those behind gateways, which count what they cost.
	gateway.Models
	// Answering is the model of Upstream with which the daemon answers and extracts facts, empty if
	// that is not known or it does neither. Reranker is the one with which it reranks, empty for none.
	Answering, Reranker string
	// Uncounted says what else it calls that may cost money, empty for nothing.
	Uncounted string
	// Passed are the variables with which the user lets it pay for what is not counted.
	Passed []string
	// DaemonEnv is what results have of its environment.
	DaemonEnv *result.DaemonEnv
}

// Asks says what a daemon is used for, which decides what it calls.
type Asks struct {
	// Model is the one that the daemon is configured with. Its provider is empty if the daemon chooses
	// by itself.
	Model llm.Ref
	// Generates is set if the daemon answers, or extracts facts.
	Generates bool
	// Unmetered accepts that it pays for what is not counted.
	Unmetered bool
}

// Calls returns the models that the daemon of a target calls, which a session starts, and sets
// which variables it gets besides those of its gateways. The user's key of a provider is not among
// these: a key that the user names is the gateway's, unless the daemon may pay for what is not
// counted.
func (t Targets) Calls(d target.Definition, s *harness.SessionConfig, a Asks) (c Calls, err error) {
	env := llm.Env(Environment(t.Env, d))
	own := slices.ContainsFunc(t.Passed, isMetered)
	past := own && a.Unmetered // the gateways
	s.Profile.Passed = t.PassedTo(d, ModelVariables(env, a.Model.Provider))
	if !past {
		s.Profile.Passed = slices.DeleteFunc(s.Profile.Passed, isMetered)
	}
	c.DaemonEnv = t.DaemonEnv(*s, s.Profile.Passed)
	named := slices.Concat(t.Passed, s.Described.Variables())
	for _, name := range c.DaemonEnv.Paying() {
		if slices.Contains(named, name) && (past || !isMetered(name)) {
			c.Passed = append(c.Passed, name)
		}
	}
	if past {
		return c, nil
	}
	if err := c.embeds(env, a.Model); err != nil {
		return c, err
	}
	switch env("SVC_RERANK_PROVIDER") {
	case llm.RerankHTTP:
		c.Uncounted = "the reranker at SVC_RERANK_BASE_URL"
	case llm.RerankLLM:
		if a.Model.Provider == llm.ProviderOpenAI {
			c.Reranker = cmp.Or(env("SVC_RERANK_MODEL"), a.Model.Name)
		}
	}
	// A daemon of the protocol may find a key in its environment.
	found := d.Configured() && (env(openAIKey) != "" || env(openAIURL) != "") || s.Endpoint == "" && s.Described.Gateway()
	if a.Model.Provider != llm.ProviderOpenAI && !found && !own {
		return c, nil
	}
	upstream := llm.Ref{Provider: llm.ProviderOpenAI, Name: a.Model.Name}.Config(env)
	c.Upstream = &upstream
	if c.Completion = c.Reranker; a.Generates && a.Model.Provider == llm.ProviderOpenAI {
		c.Answering, c.Completion = a.Model.Name, a.Model.Name
	}
	if _, _, err := upstream.Endpoint(); err != nil {
		return c, fmt.Errorf("models of the daemon: %w", err)
	}
	return c, nil
}

// embeds has the daemon's paid embeddings counted.
func (c *Calls) embeds(env llm.Env, model llm.Ref) error {
	embedding := llm.EmbedConfig{
		Provider: env("SVC_EMBED_PROVIDER"), Model: env("SVC_EMBED_MODEL"),
		BaseURL: env("SVC_EMBED_BASE_URL"), APIKey: env(embedKey), LLM: model.Config(env),
	}
	if embedding.Provider != llm.ProviderOpenAI {
		return nil
	}
	where, err := embedding.Upstream()
	if err != nil {
		return fmt.Errorf("models of the daemon: %w", err)
	}
	c.Embedding = &where
	return nil
}

// isMetered reports whether a daemon with a gateway gets a value of its own for a variable.
func isMetered(name string) bool { return slices.Contains(Metered, name) }

// Known returns the models behind gateways that have a name.
func (c *Calls) Known() (out []llm.Config) {
	for _, name := range []string{c.Answering, c.Reranker} {
		if name != "" {
			out = append(out, llm.Config{Provider: llm.ProviderOpenAI, Model: name})
		}
	}
	if c.Embedding != nil {
		out = append(out, *c.Embedding)
	}
	return out
}

// NotCounted says what the daemon of a target may pay for that no cap can limit, empty for nothing.
func (c *Calls) NotCounted(name string) string {
	switch {
	case c.Uncounted != "":
		return fmt.Sprintf("the daemon of %s calls %s by itself", name, c.Uncounted)
	case len(c.Passed) > 0:
		return fmt.Sprintf("the daemon of %s has %s", name, strings.Join(c.Passed, ", "))
	}
	return ""
}

// Check returns an error if a cap cannot limit what the daemon of a target pays for.
func (c *Calls) Check(name string, prices llm.Prices, unmetered bool) error {
	if c.Uncounted != "" && !unmetered {
		return fmt.Errorf("the cap cannot be enforced: %s, which cannot be counted; leave it out with SVC_RERANK_PROVIDER=, "+
			"or accept that with --unmetered-daemon", c.NotCounted(name))
	}
	for _, m := range c.Known() {
		if err := prices.Check(m.Provider, m.Model); err != nil {
			return fmt.Errorf("models of the daemon of %s: %w", name, err)
		}
	}
	return nil
}
