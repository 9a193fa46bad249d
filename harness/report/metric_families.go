package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
)

// verdictName is the metric that an arm without a result has too, with the verdict noResult.
const (
	verdictName = "evalctl_verdict"
	noResult    = "no_result"
)

// families are the metrics in the order of the file. A figure that was not measured has no sample.
var families = []family{
	{verdictName, "", gauge, "1 for the verdict of the gate, 0 for the others.", verdictSamples},
	{"evalctl_pass_rate_ratio", "ratio", gauge, "Share of the questions that passed. Missing if the run has no score.", func(run *Run) []sample {
		return run.scoredOnly(run.Result.PassRate)
	}},
	{"evalctl_pass_rate_low_ratio", "ratio", gauge, "Lower bound of the 95% interval of the pass rate.", func(run *Run) []sample {
		return run.boundSample(func(i *result.Interval) *float64 { return &i.Low })
	}},
	{"evalctl_pass_rate_high_ratio", "ratio", gauge, "Upper bound of the 95% interval of the pass rate.", func(run *Run) []sample {
		return run.boundSample(func(i *result.Interval) *float64 { return &i.High })
	}},
	{"evalctl_floor_ratio", "ratio", gauge, "Lowest pass rate that passes. Missing without a floor.", func(run *Run) []sample {
		if g := run.Result.Gate; g != nil && g.FloorFrom != result.FloorNone {
			return one(g.Floor)
		}
		return nil
	}},
	{"evalctl_questions", "", gauge, "Questions by how they ended. The states add up to all planned questions.", questionSamples},
	{"evalctl_retrieval_ratio", "ratio", gauge, "Mean of a measure of retrieval over the questions with gold.", retrievalSamples},
	{"evalctl_latency_seconds", "seconds", summary, "Time to the whole answer, to its first text (first_text), and as the caller felt it (felt). A quantile is missing if there are too few questions.", latencySamples},
	{"evalctl_tokens", "", gauge, "Tokens by the counts of the providers.", tokenSamples},
	{"evalctl_cost_usd", "usd", gauge, "What the models cost, in US dollars. Missing if a price is not known.", func(run *Run) []sample {
		if spent, unknown := run.Result.Spent(); !unknown {
			return one(inDollars(spent))
		}
		return nil
	}},
	{"evalctl_cost_part_usd", "usd", gauge, "What the models cost, by what they were paid for, in US dollars. Missing if a price is not known.", costSamples},
	{"evalctl_start_time_seconds", "seconds", gauge, "Start of the run, in seconds since 1970.", func(run *Run) []sample {
		return one(unixSeconds(run.Result.StartedAt))
	}},
	{"evalctl_end_time_seconds", "seconds", gauge, "End of the run, in seconds since 1970.", func(run *Run) []sample {
		return one(unixSeconds(run.Result.FinishedAt))
	}},
	{"evalctl_run_info", "", gauge, "1, with the settings of the run as labels.", infoSamples},
}

func one(value float64) []sample { return []sample{{value: value}} }

// scoredOnly returns the sample of a rate, none if the rate says nothing about the memory.
func (run *Run) scoredOnly(rate *float64) []sample {
	if !run.scored() || rate == nil {
		return nil
	}
	return one(*rate)
}

// boundSample returns the sample of an end of the interval of the pass rate, none without an
// interval.
func (run *Run) boundSample(end func(*result.Interval) *float64) []sample {
	if i := run.Result.Believed(); i != nil {
		return run.scoredOnly(end(i))
	}
	return nil
}

// verdictSamples has a sample for each verdict, so that no series ends when the verdict changes.
func verdictSamples(run *Run) (out []sample) {
	is := noResult
	if g := run.Result.Gate; g != nil {
		is = string(g.Word())
	}
	for _, v := range []result.Verdict{result.Pass, result.Fail, result.Measured, result.Inconclusive, result.Invalid, noResult} {
		s := sample{labels: []string{"verdict", string(v)}}
		if string(v) == is {
			s.value = 1
		}
		out = append(out, s)
	}
	return out
}

func questionSamples(run *Run) (out []sample) {
	n := run.Result.Counts
	for _, of := range []struct {
		state string
		n     int
	}{
		{"passed", n.Passed}, {"failed", n.Scored - n.Passed}, {"error", n.Errors}, {"unscored", n.Unscored}, {"no_gold", n.NoGold},
		{"not_measurable", n.NotMeasurable}, {"unjudged", n.Unjudged}, {"not_asked", max(0, run.Result.Planned-n.Finished())},
	} {
		out = append(out, sample{labels: []string{"state", of.state}, value: float64(of.n)})
	}
	return out
}

func retrievalSamples(run *Run) (out []sample) {
	for _, by := range []struct {
		gold string
		of   *result.Retrieval
	}{{"documents", run.Result.Retrieval}, {"evidence", run.Result.Evidence}} {
		if by.of == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(by.of.Macro)) {
			measure, k, cut := strings.Cut(name, "@")
			s := sample{labels: []string{"gold", by.gold, "measure", measure}, value: by.of.Macro[name]}
			if cut {
				s.labels = append(s.labels, "k", k)
			}
			out = append(out, s)
		}
	}
	return out
}

func latencySamples(run *Run) (out []sample) {
	for _, of := range timings(&run.Result) {
		labels := []string{"of", of.Metric}
		for _, p := range []struct {
			quantile string
			ms       *float64
		}{{"0.5", of.P50}, {"0.95", of.P95}, {"0.99", of.P99}} {
			if p.ms != nil {
				out = append(out, sample{labels: slices.Concat(labels, []string{"quantile", p.quantile}), value: *p.ms / 1000})
			}
		}
		sum := 0.0
		for _, ms := range run.times(of) {
			sum += ms
		}
		out = append(out, sample{suffix: "_count", labels: labels, value: float64(of.N)}, sample{suffix: "_sum", labels: labels, value: sum / 1000})
	}
	return out
}

func tokenSamples(run *Run) (out []sample) {
	add := func(model string, input, output int64) {
		out = append(out, sample{labels: []string{"model", model, "direction", "input"}, value: float64(input)},
			sample{labels: []string{"model", model, "direction", "output"}, value: float64(output)})
	}
	if u := run.Result.ReaderUsage; u.Reported > 0 {
		add("reader", u.InputTokens, u.OutputTokens)
	}
	if c := run.Result.Cost; c.JudgeRequests > 0 {
		add("judge", c.InputTokens, c.OutputTokens)
	}
	return out
}

func costSamples(run *Run) (out []sample) {
	parts := run.Result.Cost.Parts
	if c := run.Result.CostAccounting; c != nil && parts == nil {
		parts = new(c.Parts())
	}
	if _, unknown := run.Result.Spent(); unknown || parts == nil {
		return nil
	}
	for _, p := range []struct {
		name result.CostPartName
		usd  llm.USD
	}{
		{result.PartReader, parts.ReaderUSD}, {result.PartJudge, parts.JudgeUSD},
		{result.PartEmbeddings, parts.EmbeddingsUSD}, {result.PartDaemon, parts.DaemonUSD},
	} {
		out = append(out, sample{labels: []string{"part", string(p.name)}, value: inDollars(p.usd)})
	}
	return out
}

func infoSamples(run *Run) []sample {
	id := &run.Result.Identity
	labels := []string{
		"version", id.Tool.Version, "daemon_version", id.Daemon.Version, "dataset_sha256", id.Dataset.SHA256,
		"mode", id.Mode, "top_k", strconv.Itoa(id.TopK), "scorer", wording.ScoredBy(*id),
	}
	if j := id.Judge; j != nil {
		labels = append(labels, "judge", j.Provider+"/"+j.Model)
	}
	return []sample{{labels: labels, value: 1}}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
