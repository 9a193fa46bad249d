package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/harness/target"
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
		return arm, s.daemonModels(d, &arm)
	}
	return arm, nil
}

// daemonModels configures the models of a started daemon. It reads, extracts and reranks with the
// model that answers, if it has to.
func (s *Spec) daemonModels(d target.Definition, arm *Arm) error {
	env := llm.Env(plan.Environment(s.Targets.Env, d))
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
	if !d.Foreign() {
		arm.Session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + ref.Provider, "SVC_LLM_MODEL=" + ref.Name},
			arm.Session.Profile.Env...)
	}
	if generates {
		arm.Reader = &result.ModelID{Provider: ref.Provider, BaseURL: llm.RecordedURL(model), Model: ref.Name}
	}
	arm.Models = []string{
		ref.String(), llm.RecordedURL(model), env("SVC_EMBED_PROVIDER") + "/" + env("SVC_EMBED_MODEL"), env("SVC_EMBED_BASE_URL"),
	}
	return errors.Join(addUpstream(env, arm, ref), s.passVariables(d, arm, ref.Provider))
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

// passVariables says which variables the daemon of an arm gets, also without a cap, so that the costs
// in the result are complete. The variables of its gateway are set by the replay. provider is that
// of the daemon's completions.
func (s *Spec) passVariables(d target.Definition, arm *Arm, provider string) error {
	for _, name := range s.Targets.Passed {
		if slices.Contains(plan.Metered, name) {
			return fmt.Errorf("--daemon-env %s: a replay gives the daemon its own value, so that what it spends is counted", name)
		}
	}
	passed := s.Targets.PassedTo(d, slices.DeleteFunc(
		plan.ModelVariables(plan.Environment(s.Targets.Env, d), provider), func(name string) bool { return slices.Contains(plan.Metered, name) }))
	arm.Session.Profile.Passed, arm.DaemonEnv = passed, s.Targets.DaemonEnv(arm.Session, passed)
	named := slices.Concat(s.Targets.Passed, arm.Session.Foreign.Variables())
	for _, name := range arm.DaemonEnv.Paying() {
		if slices.Contains(named, name) && !slices.Contains(plan.Metered, name) {
			arm.Passed = append(arm.Passed, name)
		}
	}
	return nil
}
