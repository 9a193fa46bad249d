package replay

import (
	"errors"
	"fmt"

	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
)

// daemonArm returns the arm of the target at index i.
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

// daemonModels configures the models of a started daemon. The answering model also extracts and
// reranks where needed. A service with a mapping gets it only through a gateway.
func (s *Spec) daemonModels(d target.Definition, arm *Arm) error {
	env := llm.Env(plan.Environment(s.Targets.Env, d))
	uses := !d.Mapped() || arm.Session.Described.Gateway()
	generates := uses && (s.Style == actor.Full || s.Ingest == ingest.Replay)
	reranks := uses && env("SVC_RERANK_PROVIDER") == llm.RerankLLM
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
	if d.Configured() {
		arm.Session.Profile.Env = append([]string{"SVC_LLM_PROVIDER=" + ref.Provider, "SVC_LLM_MODEL=" + ref.Name},
			arm.Session.Profile.Env...)
	}
	if generates {
		arm.Reader = &result.ModelID{Provider: ref.Provider, BaseURL: llm.RecordedURL(model), Model: ref.Name}
	}
	arm.Models = []string{
		ref.String(), llm.RecordedURL(model), env("SVC_EMBED_PROVIDER") + "/" + env("SVC_EMBED_MODEL"), env("SVC_EMBED_BASE_URL"),
	}
	var err error
	arm.Calls, err = s.Targets.Calls(d, &arm.Session, plan.Asks{Model: ref, Generates: generates, Unmetered: s.Unmetered})
	return err
}
