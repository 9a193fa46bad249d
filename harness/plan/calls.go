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

// Calls are the models that a started daemon calls, as far as its configuration shows.
type Calls struct {
	// Models are the models behind gateways, which count their cost.
	gateway.Models
	// Answering is the model in Upstream with which the daemon answers and extracts facts, empty if
	// unknown or unused. Reranker is its reranking model, empty for none.
	Answering, Reranker string
	// Uncounted names anything else that it calls and that may cost money, empty for nothing.
	Uncounted string
	// Passed are the variables that let it pay for uncounted calls, as permitted by the user.
	Passed []string
	// DaemonEnv is the description of its environment for results.
	DaemonEnv *result.DaemonEnv
}

// Asks says what a daemon is used for, and thus which models it calls.
type Asks struct {
	// Model is the configured model. Its provider is empty if the daemon chooses by itself.
	Model llm.Ref
	// Generates is set if the daemon answers or extracts facts.
	Generates bool
	// Unmetered permits the daemon to pay for uncounted calls.
	Unmetered bool
}

// Calls returns the models that a target's daemon calls when started by a session, and sets the
// variables it receives besides those of its gateways. The user's provider key is not among them: a
// key named by the user is for the gateway, unless the daemon may make uncounted calls.
func (t Targets) Calls(d target.Definition, s *harness.SessionConfig, a Asks) (c Calls, err error) {
	env := llm.Env(Environment(t.Env, d))
	own := slices.ContainsFunc(t.Passed, isMetered)
	past := own && a.Unmetered // the gateways
	s.Profile.Passed = t.PassedTo(d, modelVariables(env, a.Model.Provider))
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

// embeds makes the daemon's paid embeddings counted.
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

// isMetered reports whether a daemon with a gateway receives a different value for a variable.
func isMetered(name string) bool { return slices.Contains(Metered, name) }

// Known returns the known models behind gateways.
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

// NotCounted describes what a target's daemon may pay for outside any cap, empty for nothing.
func (c *Calls) NotCounted(name string) string {
	switch {
	case c.Uncounted != "":
		return fmt.Sprintf("the daemon of %s calls %s by itself", name, c.Uncounted)
	case len(c.Passed) > 0:
		return fmt.Sprintf("the daemon of %s has %s", name, strings.Join(c.Passed, ", "))
	}
	return ""
}

// AtEndpoint says of the daemon at a URL, which has no gateway, that no cap limits it.
func AtEndpoint(url string) string {
	return fmt.Sprintf("the daemon at %s pays for its models by itself", url)
}

// NotCounted describes what the daemon may pay for outside any cap, empty for nothing.
func (p *Plan) NotCounted() string {
	models := result.ModelsUnknown
	if f := p.Session.Described; f != nil && f.Mapping != nil {
		models = f.Mapping.Models()
	}
	switch {
	case p.Session.Endpoint != "" && models != result.ModelsNone:
		return AtEndpoint(p.Session.Endpoint)
	case p.Session.Mapped() && models == result.ModelsUnknown && p.Calls.Upstream == nil:
		return p.Found.Name + " may call models by itself"
	}
	return p.Calls.NotCounted(p.Found.Name)
}

// Check returns an error if a cap cannot limit the spending of a target's daemon.
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
