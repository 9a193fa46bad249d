package replay

import (
	"evalctl/harness"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
)

// Arm is one measured system: an SDK's daemon or a baseline.
type Arm struct {
	// Name is the base name of the arm's files.
	Name string
	// Baseline is empty for a daemon.
	Baseline actor.Style
	// Mode and Dialect are how this daemon is asked. Empty fields default to Config's.
	Mode    string
	Dialect result.Dialect
	// Session says how the daemon is started or reached.
	Session harness.SessionConfig
	// Reader is the model that a started daemon is configured with, nil if unknown.
	Reader *result.ModelID
	// Models identify the models that a started daemon was configured with, in any form. Brains
	// filled with other models are not reused.
	Models []string
	// Calls are the models that a started daemon calls. Open rejects a started daemon without
	// DaemonEnv, whose credentials would allow uncounted spending. Passed must list every entry of
	// Session.Profile.Passed that looks like a credential.
	plan.Calls
}

// hasDaemon reports whether the arm is a daemon rather than a baseline.
func (a Arm) hasDaemon() bool { return a.Baseline == "" }

// daemonID identifies the arm's daemon as far as known before it runs, zero for a baseline.
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
	for _, m := range a.Known() {
		if a.Reader == nil || m.Model != a.Reader.Model {
			out = append(out, m)
		}
	}
	return out
}
