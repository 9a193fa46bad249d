package replay

import (
	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
)

// Arm is what is measured: the daemon of an SDK, or a baseline.
type Arm struct {
	// Name is that of the arm's files.
	Name string
	// Baseline is empty for a daemon.
	Baseline actor.Style
	// Mode and Dialect are how this daemon is asked; what is empty is that of Config.
	Mode    string
	Dialect result.Dialect
	// Session is how the daemon is started or reached.
	Session harness.SessionConfig
	// Reader is the model that a started daemon is configured with, nil if that is not known.
	Reader *result.ModelID
	// Models say which models a started daemon was configured with, in any form: brains that were
	// filled with other ones are not reused.
	Models []string
	// Upstream is where the calls of a started daemon to OpenAI-compatible models are sent, counted
	// under the cap. If it is nil, none are expected, and the daemon gets no key for them.
	Upstream *llm.Config
	// Embedding is the paid model with which a started daemon embeds texts, and where that is. Its
	// calls are counted as well. It is nil if the daemon embeds nothing, or for free.
	Embedding *llm.Config
	// Reranker is the model at Upstream with which a started daemon reranks, "" for none.
	Reranker string
	// DaemonEnv says which variables a started daemon gets. Open rejects a started daemon without it:
	// its credentials would let the daemon spend what is not counted. Its Passed must have each of
	// Session.Profile.Passed that looks like one. Passed are those with which the user lets it pay for
	// what is not counted.
	DaemonEnv *result.DaemonEnv
	Passed    []string
	// Uncounted is set if the daemon calls something else that may cost money.
	Uncounted bool
}

// hasDaemon reports whether the arm is a daemon, and no baseline.
func (a Arm) hasDaemon() bool { return a.Baseline == "" }

// daemonID identifies the arm's daemon as far as that is known before it runs, zero for a baseline.
func (a Arm) daemonID() (id result.DaemonID, err error) {
	if a.hasDaemon() {
		id, err = a.Session.DaemonID()
	}
	return id, err
}

// started reports whether the replay starts the arm's daemon.
func (a Arm) started() bool { return a.hasDaemon() && a.Session.Endpoint == "" }

// models returns the models that a started daemon calls through a gateway, or for free.
func (a Arm) models() (out []llm.Config) {
	if !a.started() {
		return nil
	}
	if a.Reader != nil {
		out = append(out, llm.Config{Provider: a.Reader.Provider, Model: a.Reader.Model})
	}
	if a.Reranker != "" {
		out = append(out, llm.Config{Provider: llm.ProviderOpenAI, Model: a.Reranker})
	}
	if a.Embedding != nil {
		out = append(out, *a.Embedding)
	}
	return out
}

// completionModel is the model of the daemon's completions that name none, "" if the model that it
// is configured with is not behind the gateway.
func (a Arm) completionModel() string {
	if a.Reader != nil && a.Reader.Provider == llm.ProviderOpenAI {
		return a.Reader.Model
	}
	return a.Reranker
}
