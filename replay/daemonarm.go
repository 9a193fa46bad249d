package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// daemonArm returns the arm of the i-th target, from 0.
func (s *Spec) daemonArm(given string, i int) (arm Arm, err error) {
	port := s.Port
	if port != 0 {
		port += i
	}
	d, err := s.Targets.FindOne(given, s.Command, s.Endpoint)
	if err != nil {
		return arm, err
	}
	arm = Arm{Name: d.Name, Mode: d.Settings.Mode, Dialect: d.Settings.Dialect}
	if arm.Session, err = s.Targets.Session(d, s.Token, port); err != nil {
		return arm, err
	}
	arm.Session.Concurrency = s.Concurrency
	switch {
	case d.Endpoint == "" && s.Ingest == ingest.None:
		return arm, fmt.Errorf("--ingest-mode none is for a running daemon with filled brains: give --target %s=URL", d.Name)
	case d.Endpoint == "":
		return arm, s.daemonModels(plan.Environment(s.Targets.Env, d), &arm)
	case len(s.Passed) > 0:
		return arm, fmt.Errorf("--daemon-env is for a daemon that is started; the one of %s has its own environment", d.Name)
	}
	return arm, nil
}

// daemonModels configures the models of a started daemon, whose environment is env. It reads,
// extracts and reranks with the model that answers, if it has to.
func (s *Spec) daemonModels(env llm.Env, arm *Arm) error {
	generates := s.Style == actor.Full || s.Ingest == ingest.Replay
	reranks := env("SVC_RERANK_PROVIDER") == llm.RerankLLM
	ref := llm.Ref{Provider: llm.ProviderFake, Name: llm.FakeModel}
	if (generates || reranks) && s.Answers != "" {
		var err error
		if ref, err = llm.ParseRef(env, "model", s.Answers); err != nil {
			return err
		}
	} else if generates {
		return errors.New("the daemon needs a model to extract and to answer: give --model MODEL")
	} else if reranks {
		return errors.New("SVC_RERANK_PROVIDER is llm, and the daemon has no model to rerank with: " +
			"give --model MODEL, or unset it")
	}
	model := ref.Config(env)
	arm.Session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + ref.Provider, "SVC_LLM_MODEL=" + ref.Name},
		arm.Session.Profile.Env...)
	if generates {
		arm.Reader = &result.ModelID{Provider: ref.Provider, BaseURL: llm.RecordedURL(model), Model: ref.Name}
	}
	arm.Models = []string{
		ref.String(), llm.RecordedURL(model), env("SVC_EMBED_PROVIDER") + "/" + env("SVC_EMBED_MODEL"), env("SVC_EMBED_BASE_URL"),
	}
	return errors.Join(addUpstream(env, arm, ref), s.withhold(env, arm, ref.Provider))
}

// addUpstream has the calls of a daemon to OpenAI-compatible models counted, if it could make any:
// it is configured for them, or there is a key that it would find in its environment.
func addUpstream(env llm.Env, arm *Arm, ref llm.Ref) error {
	embedding := llm.EmbedConfig{
		Provider: env("SVC_EMBED_PROVIDER"), Model: env("SVC_EMBED_MODEL"),
		BaseURL: env("SVC_EMBED_BASE_URL"), APIKey: env("SVC_EMBED_API_KEY"), LLM: ref.Config(env),
	}
	if embedding.Provider == llm.ProviderOpenAI {
		where, err := embedding.Upstream()
		if err != nil {
			return fmt.Errorf("models of the daemon: %w", err)
		}
		arm.Embedding = &where
	}
	switch env("SVC_RERANK_PROVIDER") {
	case llm.RerankHTTP:
		arm.Uncounted = true
	case llm.RerankLLM:
		if ref.Provider == llm.ProviderOpenAI {
			arm.Reranker = cmp.Or(env("SVC_RERANK_MODEL"), ref.Name)
		}
	}
	if ref.Provider != llm.ProviderOpenAI && env("OPENAI_API_KEY") == "" && env("OPENAI_BASE_URL") == "" {
		return nil
	}
	upstream := llm.Ref{Provider: llm.ProviderOpenAI, Name: ref.Name}.Config(env)
	arm.Upstream = &upstream
	if _, err := llm.Open(upstream); err != nil {
		return fmt.Errorf("models of the daemon: %w", err)
	}
	return nil
}

// withhold keeps credentials back from the daemon of an arm, also without a cap, so that the costs in
// the result are complete. The variables of its gateway are set by the replay. provider is that of
// the daemon's completions.
func (s *Spec) withhold(env llm.Env, arm *Arm, provider string) (err error) {
	for _, name := range s.Passed {
		if slices.Contains(plan.OpenAIVariables, name) || slices.Contains(plan.EmbedVariables, name) {
			return fmt.Errorf("--daemon-env %s: a replay gives the daemon its own value, so that what it spends is counted", name)
		}
	}
	var needed []string
	for _, provider := range []string{provider, env("SVC_EMBED_PROVIDER")} {
		if provider == llm.ProviderOllama {
			needed = append(needed, plan.OllamaVariables...)
		}
	}
	if arm.Uncounted {
		needed = append(needed, plan.RerankVariables...)
	}
	if arm.DaemonEnv, err = plan.Withhold(s.Environ, s.Passed, needed); err != nil {
		return err
	}
	arm.Session.Profile.Withheld = arm.DaemonEnv.Withheld
	for _, name := range arm.DaemonEnv.Passed {
		if slices.Contains(s.Passed, name) {
			arm.Passed = append(arm.Passed, name)
		}
	}
	return nil
}
