package result

import (
	"slices"

	"evalctl/internal/environ"
)

// DaemonEnv names variables of evalctl's environment that a started daemon got or did not get,
// besides the standard ones. Values are never stored.
type DaemonEnv struct {
	// Withheld are variables that look like a credential or a provider's address and were withheld.
	Withheld []string `json:"withheld"`
	// Passed are variables named by the user, and the addresses and keys of its models. The address
	// of an ollama is in neither list, because its models cost nothing.
	Passed []string `json:"passed"`
	// HomeOfUser is set if the daemon had the home and the temporary folder of evalctl's user. A
	// mapped service also had the working folder.
	HomeOfUser bool `json:"home_of_user,omitempty"`
}

// Paying returns the passed variables with which a daemon may spend money.
func (e *DaemonEnv) Paying() []string {
	return slices.DeleteFunc(slices.Clone(e.Passed), func(name string) bool { return !environ.LooksSecret(name) })
}

// Settings are the parts of a configuration that are not part of the experiment's identity.
type Settings struct {
	Concurrency    int     `json:"concurrency"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
	// Floor is the lowest pass rate that passes, from 0 to 1, 0 for FloorNone. FloorMode says what
	// must reach it and the floors of tags.
	Floor     float64   `json:"floor"`
	FloorFrom FloorFrom `json:"floor_from,omitempty"`
	FloorMode FloorMode `json:"floor_mode,omitempty"`
	// TagFloors are the floors of the questions with a tag.
	TagFloors map[string]float64 `json:"tag_floors,omitempty"`
	// Families are the tags with the floor for families. A family without questions that count has
	// no floor.
	Families []string `json:"families,omitempty"`
	// NoLeaks fails a run in which a deleted text, or a text of another brain, came back.
	NoLeaks bool `json:"no_leaks,omitempty"`
	// ClusterTag names the clusters of the questions: X of a tag ClusterTag:X, or ByBrain.
	// NoClusters and "" mean none. With "", however, the intervals of retrieval are over brains if
	// there are several.
	ClusterTag string `json:"cluster_tag,omitempty"`
	// MaxErrors limits the questions with an error of the daemon, MaxUnscored the questions without
	// a verdict of the scorer.
	MaxErrors   Allowance `json:"max_errors"`
	MaxUnscored Allowance `json:"max_unscored"`
	// DaemonEnv is nil if no daemon was started, or it got all variables.
	DaemonEnv *DaemonEnv `json:"daemon_env,omitempty"`
}
