package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// Fact is a property recorded for each arm besides its result.
type Fact struct {
	Name string `json:"name"`
	// Values has one text per arm, "not recorded" if unknown.
	Values []string `json:"values"`
	// Measured is set for a figure that varies from run to run.
	Measured bool `json:"measured,omitempty"`
}

// unrecorded is the value for an arm that did not record the fact. Unknown values are never shown
// as 0.
const unrecorded = "not recorded"

// noResult is the value of an arm without a result.
const noResult = "no result"

// factEmbeddings is a plural name, which takes no article in a sentence.
const factEmbeddings = "embedding calls"

// facts define how each fact is read from a daemon's result. An empty string means unrecorded.
var facts = []struct {
	name string
	// measured is set for facts that vary from run to run: they are listed, but no claim is made.
	measured bool
	value    func(*result.Result) string
}{
	{"mode that ran", false, func(r *result.Result) string { return strings.Join(slices.Sorted(maps.Keys(r.EffectiveModes)), ", ") }},
	{"version", false, func(r *result.Result) string { return r.Identity.Daemon.Version }},
	{factEmbeddings, false, embeddingCalls},
	{"dialect", false, func(r *result.Result) string {
		var names []string
		for _, d := range seen(r).Dialects {
			names = append(names, string(d))
		}
		return strings.Join(names, " and ")
	}},
	{"ingest time", true, ingestTime},
	{"peak memory", true, func(r *result.Result) string {
		if n := seen(r).PeakRSSBytes; n > 0 {
			return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
		}
		return ""
	}},
}

// factsOf returns the facts of arms. A run is nil for an arm without a result.
func factsOf(runs []*Run) []Fact {
	var out []Fact
	for _, f := range facts {
		fact := Fact{Name: f.name, Measured: f.measured}
		for _, r := range runs {
			value := noResult
			switch {
			case r == nil || r.res == nil:
			case r.res.Identity.Scenario.Baseline():
				value = key.NoMemory
			default:
				value = cmp.Or(f.value(r.res), unrecorded)
			}
			fact.Values = append(fact.Values, value)
		}
		out = append(out, fact)
	}
	return out
}

// Recorded reports whether an arm recorded a value.
func (f Fact) Recorded() bool {
	return slices.ContainsFunc(f.Values, func(v string) bool { return v != unrecorded && v != noResult && v != key.NoMemory })
}

// difference says in what the arms of these names differ, empty if that is not known of two arms.
// Baselines and arms without a result have no part in it, and nothing is said of a figure of a single
// run.
func (f Fact) difference(names []string) string {
	if f.Measured {
		return ""
	}
	var parts, values []string
	for i, v := range f.Values {
		if v == key.NoMemory || v == noResult {
			continue
		}
		parts = append(parts, names[i]+" "+v)
		if v != unrecorded {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	if len(slices.Compact(values)) < 2 {
		return ""
	}
	what := f.Name
	if what != factEmbeddings {
		what = "the " + what
	}
	return fmt.Sprintf("They differ in %s: %s.", what, strings.Join(parts, ", "))
}

// seen returns the observations of a replay's daemon.
func seen(r *result.Result) result.DaemonSeen {
	if r.Replay == nil || r.Replay.Daemon == nil {
		return result.DaemonSeen{}
	}
	return *r.Replay.Daemon
}

func embeddingCalls(r *result.Result) string {
	if r.Replay == nil || r.Replay.ModelRequests == nil || r.Replay.ModelRequests.SinceResumed {
		return ""
	}
	e := r.Replay.ModelRequests.Embeddings
	return fmt.Sprintf("%d (%d failed)", e.Made, e.Failed)
}

// ingestTime says how long filling the brains took, and how many were filled. Brains filled by an
// earlier replay took no time.
func ingestTime(r *result.Result) string {
	if r.Replay == nil || r.Replay.Ingest == nil {
		return ""
	}
	i := r.Replay.Ingest
	text := fmt.Sprintf("%.1f s for %s", i.Seconds, figure.Count(i.Brains, "brain"))
	if i.Reused > 0 {
		text += fmt.Sprintf(" (%d reused)", i.Reused)
	}
	return text
}
