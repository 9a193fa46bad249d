package page

import (
	"fmt"

	"evalctl/harness/result"
)

// methods describes how intervals are computed, by their names in result files.
var methods = map[string]struct{ name, how string }{
	"wilson": {"Wilson", "score interval of a share: the centre is (p + z²/2n) / (1 + z²/n), " +
		"the half width z·√(p(1−p)/n + z²/4n²) / (1 + z²/n)"},
	"wilson_stratified": {"Wilson, stratified", "score interval at the size that has the standard error of the " +
		"estimate from the strata, with the correction for finite populations"},
	"student_t": {"t", "mean ± t·s/√n with n−1 degrees of freedom"},
	"student_t_clustered": {"t, clustered", "mean ± t·SE with one degree of freedom less than there are clusters; " +
		"SE² is the sum over the clusters of the squared sums of deviations, divided by n², times C/(C−1)"},
	"newcombe_paired": {"Newcombe, paired", "interval of the difference of two shares of the same questions, " +
		"from their Wilson intervals and their correlation (Newcombe 1998, method 10)"},
	"bonett_price":                {"Bonett–Price", "paired difference with one added to both kinds of disagreement and two to n"},
	"student_t_paired":            {"t, paired", "mean of the differences ± t·s/√n"},
	"bootstrap_percentile_paired": {"bootstrap", "percentiles of the mean difference over resampled questions, or clusters"},
	"student_t_log_ratio":         {"t of logarithms", "mean of the logarithms of the ratios ± t·s/√n, as a ratio"},
	"order_statistics": {"order statistics", "the values at two ranks that enclose the percentile with this " +
		"probability, by the binomial distribution"},
}

// methodName returns the name of a method for people, and its own name if it is not known.
func methodName(method string) string {
	if m, ok := methods[method]; ok {
		return m.name
	}
	return name(method)
}

// methodSection says how the figures of a result were computed, and from what.
func methodSection(c Content) section {
	res := c.Result
	facts := []fact{
		{Name: "Passed", Value: "A question passes if its score is at least 0.5. Errors of the daemon and " +
			"unscored questions count as not passed. Questions without gold are not counted."},
		{Name: "Pass rate", Value: "Passed questions, divided by all that count."},
	}
	for _, m := range usedMethods(c) {
		facts = append(facts, fact{Name: "Interval: " + methodName(m), Value: methodText(m)})
	}
	if res.Gate != nil {
		facts = append(facts, gateMethod(res.Gate))
	}
	if res.Latency.N > 0 {
		facts = append(facts, fact{Name: "Percentiles", Value: "Linear interpolation between order statistics (type 7), over " +
			"answered questions. None is shown for fewer values than a two-sided 95% interval needs: 6 for p50, 59 for p95, 299 for p99."})
	}
	if res.Repeats != nil {
		facts = append(facts, fact{Name: "pass@k, pass^k", Value: "With c of n repeats passed: 1 − C(n−c, k)/C(n, k) that one of k " +
			"passes, C(c, k)/C(n, k) that all do; means over the questions. Variances are those of a one-way analysis of variance."})
	}
	if res.Retrieval != nil {
		facts = append(facts, fact{Name: "Retrieval", Value: "The measures of trec_eval over documents, each at the rank of its " +
			"best chunk; nDCG discounts by log₂(rank + 1) and has all gold in the ideal. Questions without an answer count as 0."})
	}
	if c.Comparison != nil {
		facts = append(facts, comparisonMethods(c.Comparison)...)
	}
	return section{ID: "how", Title: "How each number was computed", Blocks: []block{
		{Facts: facts}, {Text: "Everything that the figures were computed from, by its SHA-256:"}, {Facts: hashes(c)},
	}}
}

// methodText returns the formula of a method.
func methodText(method string) string {
	if m, ok := methods[method]; ok {
		return m.how + "."
	}
	return "The result file names this method."
}

// usedMethods returns the methods of the result's intervals, each once.
func usedMethods(c Content) []string {
	var out []string
	seen := map[string]bool{}
	add := func(i *result.Interval) {
		if i != nil && i.Method != "" && !seen[i.Method] {
			seen[i.Method] = true
			out = append(out, i.Method)
		}
	}
	res := c.Result
	add(res.Interval)
	if res.Clustered != nil {
		add(res.Clustered.Interval)
	}
	if res.Replay != nil && res.Replay.Weighted != nil {
		add(&res.Replay.Weighted.Interval)
	}
	if res.Retrieval != nil {
		for _, i := range res.Retrieval.Intervals {
			add(&i)
		}
	}
	for _, q := range []result.Quantiles{res.Latency, res.FirstDelta} {
		add(q.P50Interval)
		add(q.P95Interval)
		add(q.P99Interval)
	}
	if res.Gate != nil && res.Gate.Baseline != nil {
		add(res.Gate.Baseline.Interval)
	}
	if c.Comparison != nil {
		for _, p := range c.Comparison.Pairs {
			add(p.Interval)
		}
	}
	return out
}

// gateMethod says how the verdict came about.
func gateMethod(g *result.Gate) fact {
	what := "the pass rate"
	switch g.Mode {
	case result.FloorProven:
		what = "the one-sided 95% lower bound of the pass rate (Wilson)"
	case result.FloorNotRefuted:
		what = "the one-sided 95% upper bound of the pass rate (Wilson)"
	}
	return fact{Name: "Floor", Value: fmt.Sprintf("%s must reach %.3f; %d of %d passes do. A floor is proven if the one-sided "+
		"95%% lower bound of the pass rate (Wilson) reaches it.", what, g.Floor, g.Required, g.Total)}
}

// hashes lists the hashes of all inputs.
func hashes(c Content) []fact {
	id := c.Result.Identity
	var out []fact
	add := func(what, sum string) {
		if sum != "" {
			out = append(out, fact{Name: what, Value: name(sum), Code: true})
		}
	}
	add("Dataset", id.Dataset.SHA256)
	if s := id.Dataset.Selection; s != nil {
		add("Selected ids", s.SHA256)
	}
	if id.Corpus != nil {
		add("Corpus", id.Corpus.SHA256)
	}
	add("Command of the daemon", id.Daemon.CommandSHA256)
	if id.Judge != nil {
		add("Prompt of the judge", id.Judge.PromptSHA256)
	}
	for _, sum := range sortedKeys(c.Result.ReaderPrompts) {
		add("Prompt of the reader", sum)
	}
	if r := c.Result.Replay; r != nil {
		add("Benchmark", r.Load.SHA256)
		add("Sample", r.Sample.Signature)
		add("Prompt of the actor", r.Actor.PromptSHA256)
		if r.Ingest != nil {
			add("Contents of the brains", r.Ingest.Signature)
		}
		if r.Errata != nil {
			add("Errata", r.Errata.SHA256)
		}
	}
	if g := c.Result.Gate; g != nil && g.Baseline != nil {
		add("Baseline", g.Baseline.SHA256)
	}
	return out
}
