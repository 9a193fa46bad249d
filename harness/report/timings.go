package report

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// togetherText describes what the latencies of the arms include.
func togetherText(t *result.Together) string {
	where := ""
	if len(t.Started) > 1 {
		where = ", daemons of " + strings.Join(t.Started, ", ") + " on one machine"
	}
	return fmt.Sprintf("%s were asked at the same time%s, with up to %d questions each and %d in all under way: "+
		"latencies include that they wait for each other", strings.Join(t.Arms, ", "), where, t.Concurrency, t.InFlight)
}

// aloneText describes the latencies of a daemon that was asked alone. A problem in it is a message
// of a daemon or a model.
func aloneText(a *result.Alone) string {
	text := fmt.Sprintf("%d of %d questions again, one at a time while other arms were idle: %s, %s",
		len(a.Asked)-a.Failed(), a.Planned, a.Request, quantilesText(a.Latency))
	if a.Shared.N > 0 {
		text += "; the same requests in the replay: " + quantilesText(a.Shared)
	}
	if n := a.Failed(); n > 0 {
		text += fmt.Sprintf("; %d failed", n)
	}
	if a.Problem != "" {
		text += "; not all were asked: " + a.Problem
	}
	return text
}

// quantilesText returns p50 and p95, or the number of answers that they need.
func quantilesText(q result.Quantiles) string {
	one := func(name string, ms *float64, needed int) string {
		if ms == nil {
			return fmt.Sprintf("%s needs %d answers", name, needed)
		}
		return fmt.Sprintf("%s %.1f ms", name, *ms)
	}
	return one("p50", q.P50, result.NeededForP50) + ", " + one("p95", q.P95, result.NeededForP95)
}

// timing is a latency as shown in all forms of a report.
type timing struct {
	Name   string
	Metric string // the name in metrics
	result.Quantiles
	// Of returns the time of a question, nil if it has none.
	Of func(*result.Record) *float64
}

// timings returns the latencies of the answered questions.
func timings(r *result.Result) (out []timing) {
	for _, t := range []struct {
		name, metric string
		q            *result.Quantiles
		of           func(*result.Record) *float64
	}{
		{"first token", "first_text", &r.FirstDelta, (*result.Record).FirstToken},
		{"done", "answer", &r.Latency, (*result.Record).Took},
		{"done, with waits", "felt", r.Felt, (*result.Record).Felt},
	} {
		if t.q != nil && t.q.N > 0 {
			out = append(out, timing{t.name, t.metric, *t.q, t.of})
		}
	}
	return out
}

// feltNote explains the latencies of a run that has Felt.
const feltNote = "Times are those of the answering attempts; with waits, failed attempts and the pauses between them are included."

// timingNotes returns notes about the latencies. A note may contain a message of a daemon.
func timingNotes(r *result.Result) (notes []string) {
	if r.Replay != nil && r.Replay.Together != nil {
		notes = append(notes, togetherText(r.Replay.Together)+".")
	}
	if r.Replay != nil && r.Replay.Alone != nil {
		notes = append(notes, "Alone: "+aloneText(r.Replay.Alone)+".")
	}
	if r.Cached > 0 {
		notes = append(notes, "The times leave out "+figure.Count(r.Cached, "answer")+" from evalctl's cache.")
	}
	if r.Retried > 0 {
		notes = append(notes, figure.Count(r.Retried, "question")+" needed more than one attempt.")
	}
	return notes
}
