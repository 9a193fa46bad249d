package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/wording"
)

// properties returns the facts about the run for a reader of a suite: its figures, its verdict and
// everything that affected them.
func properties(run *Run) []property {
	res, id := &run.Result, &run.Result.Identity
	var s suite
	s.add("pass_rate", decimal(res.PassRate))
	s.add("ci95", bounds(res.Interval))
	if res.Interval != nil {
		s.add("ci95_method", res.Interval.Method)
	}
	if res.Clustered != nil {
		s.add("ci95_clustered", bounds(res.Clustered.Interval))
		if i := res.Clustered.Interval; i != nil {
			s.add("ci95_clustered_method", i.Method)
		}
	}
	s.add("mean_score", decimal(res.MeanScore))
	s.add("counts", countsText(res.Counts))
	if res.Leaks != nil {
		s.add("leaks", leaksText(res.Leaks))
	}
	if g := res.Gate; g != nil {
		s.add("verdict", string(g.Verdict))
		s.add("verdict_sentence", g.Sentence)
		if g.FloorFrom != result.FloorNone {
			s.add("floor", strconv.FormatFloat(g.Floor, 'f', -1, 64))
		}
		s.add("floor_from", string(g.FloorFrom))
		s.add("floor_mode", string(g.Mode))
		if b := g.Baseline; b != nil {
			s.add("baseline", string(b.Verdict))
			if b.Difference != nil {
				s.add("baseline_difference", fmt.Sprintf("%+.3f", *b.Difference))
			}
		}
	}
	s.add("stopped", string(res.Stopped))
	s.add("selection", selection(res))
	s.add("dataset", id.Dataset.Path)
	s.add("dataset_sha256", id.Dataset.SHA256)
	if id.Corpus != nil {
		s.add("corpus_sha256", id.Corpus.SHA256)
	}
	s.add("scenario", string(id.Scenario))
	s.add("mode", id.Mode)
	s.add("effective_modes", modesRan(res))
	s.add("fusions", tally(res.Fusions))
	s.add("top_k", strconv.Itoa(id.TopK))
	s.add("scorer", wording.ScoredBy(*id))
	s.add("passed", passedText(res))
	if j := id.Judge; j != nil {
		s.add("judge", j.Provider+"/"+j.Model)
		s.add("judge_prompt", j.PromptVersion+" "+j.PromptSHA256)
	}
	s.add("reader_models", tally(res.ReaderModels))
	s.add("daemon_version", id.Daemon.Version)
	s.add("daemon_env", wording.DaemonEnv(res.Settings.DaemonEnv))
	if r := res.Replay; r != nil {
		s.add("model_request_warnings", strings.Join(requestWarnings(r.ModelRequests), "; "))
	}
	s.add("cost_usd", cost(res))
	if e := res.Embeddings; e != nil {
		s.add("embeddings", wording.Embeddings(e))
	}
	if c := res.CostAccounting; c != nil {
		s.add("saved_usd", strings.TrimPrefix(wording.Savings(c), "$"))
		s.add("list_cost_usd", strings.TrimPrefix(wording.ListCost(c), "$"))
		if c.PerCorrectUSD != nil {
			s.add("usd_per_correct", c.PerCorrectUSD.Exact())
		}
	}
	s.add("started_at", stamp(res.StartedAt))
	s.add("finished_at", stamp(res.FinishedAt))
	s.add("tool_version", strings.TrimSpace(id.Tool.Version+" "+id.Tool.Commit))
	s.add("result", run.Path)
	return s.properties
}

// decimal formats a rate with three decimals, empty for nil.
func decimal(f *float64) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *f)
}

// bounds formats the ends of an interval, empty for nil.
func bounds(i *result.Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("%.3f,%.3f", i.Low, i.High)
}

// countsText lists the counts of a run, the rare ones only if there are any.
func countsText(n result.Counts) string {
	rare := ""
	if n.NotMeasurable > 0 {
		rare = fmt.Sprintf(" not_measurable=%d", n.NotMeasurable)
	}
	if n.Unjudged > 0 {
		rare += fmt.Sprintf(" unjudged=%d", n.Unjudged)
	}
	return fmt.Sprintf("total=%d passed=%d scored=%d errors=%d unscored=%d no_gold=%d%s", n.Total, n.Passed, n.Scored, n.Errors, n.Unscored, n.NoGold, rare)
}

// selection describes the selected questions, "" if they are the whole dataset.
func selection(res *result.Result) string {
	d := res.Identity.Dataset
	asked := d.Selected / max(1, d.Repeats)
	if !d.Selection.Partial(asked) {
		return ""
	}
	return fmt.Sprintf("%d of %d questions (%s)", asked, d.Selection.Total, d.Selection)
}

// modesRan lists the modes that ran, and the number of answers without a reported mode.
func modesRan(res *result.Result) string {
	ran := tally(res.EffectiveModes)
	if res.ModesUnknown > 0 {
		ran = strings.TrimSpace(fmt.Sprintf("%s unknown=%d", ran, res.ModesUnknown))
	}
	return ran
}

// tally lists the number of occurrences of each name.
func tally(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, counts[name]))
	}
	return strings.Join(parts, " ")
}

// cost formats the cost of a run or a replay in dollars, without the sign, as far as it is known.
func cost(res *result.Result) string {
	spent, unknown := res.Spent()
	if unknown && spent == 0 {
		return "unknown"
	}
	return spent.Exact()
}

// stamp formats a time in UTC to the second, empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
