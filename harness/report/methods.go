package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
)

// methods describes how intervals are computed, by the names of methods in result files.
var methods = map[string]string{
	result.MethodWilson: "Score interval of a share: the centre is (p + z²/2n) / (1 + z²/n), " +
		"the half width z·√(p(1−p)/n + z²/4n²) / (1 + z²/n).",
	"wilson_stratified": "Score interval at the size that has the standard error of the " +
		"estimate from the strata, with the correction for finite populations.",
	"wilson_clusters":      "Wilson's interval with each cluster as one question, because the clusters do not differ.",
	result.MethodT:         "Mean ± t·s/√n with n−1 degrees of freedom.",
	result.MethodClustered: clusteredHow,
	"student_t_clustered":  clusteredHow, // the name in older comparisons
	"student_t_crossed":    "Mean ± t·SE. SE² is the variance of the questions’ means plus that between runs (two-way clusters; Cameron, Gelbach and Miller 2011).",
	"sign_flip":            flipsHow,
	"sign_flip_wider":      widerHow,
	"sign_flip_crossed":    crossedHow, "sign_flip_clusters_crossed": crossedHow,
	"sign_flip_crossed_wider": widerHow, "sign_flip_clusters_crossed_wider": widerHow,
	"sign_flip_clusters": "The differences that the sign-flip test of whole clusters does not reject: for enough of all " +
		"assignments of signs to the clusters they lie between the mean of the clusters with + and that of those with −.",
	"sign_flip_clusters_wider": widerHow,
	result.MethodBCa: "Percentiles of the means of resampled questions, corrected for bias and skewness " +
		"(Efron 1987).",
	result.MethodClusterBootstrap: "Percentiles of the means of resampled clusters, which are drawn as a whole; " +
		"the percentiles are as far out as the t distribution for that many clusters (Hesterberg 2015).",
	"newcombe_paired": "Interval of the difference of two shares of the same questions, " +
		"from their Wilson intervals and their correlation (Newcombe 1998, method 10).",
	"student_t_welch_log": "Difference of the mean logarithms of the runs ± t·√(s₁²/n₁ + s₂²/n₂), as a ratio; each run is one value.",
	result.MethodLinearised: "Coefficient ± t·s/√n of the linearised values of the answers, with n−1 degrees of freedom " +
		"(Gwet 2014).",
	result.MethodLinearisedClusters: "Coefficient ± t·SE of the linearised values of the answers (Gwet 2014), over clusters: " + clusteredHow,
	result.MethodStratifiedClusters: "Estimate ± t·SE, with one degree of freedom less than there are clusters. " +
		"SE² is the sum over the clusters of the squared sums of what questions add to the error of the estimate, times √(m/(m−1)) " +
		"for a stratum in m clusters; strata of one cluster count as one. The interval contains the one for independent questions.",
	result.MethodOrder: "The values at two ranks that enclose the percentile with at least this " +
		"probability, by the binomial distribution.",
}

const clusteredHow = "Mean ± t·SE, with one degree of freedom less than there are clusters. SE² is the sum over the " +
	"clusters of the squared sums of deviations, divided by n², times C/(C−1)."

const (
	flipsHow = "The differences that the sign-flip test of questions does not reject: for enough of all assignments of " +
		"signs to the questions they lie between the mean of those with + and that of those with −."
	crossedHow = "From the lower to the higher ends of the interval of sign flips and of a t interval with the variance of questions and of runs."
	widerHow   = "From the lower to the higher ends of that interval and of the one that takes the questions as independent."
)

// methodName returns the name of a method.
func methodName(method string) form.Text {
	if known, ok := wording.Method(method); ok {
		return form.F("%s", known)
	}
	return form.F("%s", form.Name(method))
}

// methods describes how the figures of a result were computed, and from which files.
func (run *Run) methods() form.Section {
	res := &run.Result
	m := methodFacts{Section: form.Section{ID: "how", Title: "How each number was computed", Folded: true}}
	m.say("passed", "A question passes if its score is at least 0.5. Errors of the daemon and "+
		"unscored questions count as not passed. Questions without gold are not counted.")
	m.say("pass rate", "Passed questions, divided by all that count.")
	m.addRun(res)
	if res.Gate != nil {
		m.gate(res.Gate)
	}
	if res.Latency.N > 0 {
		m.say("percentiles", "Linear interpolation between order statistics (type 7), over "+
			"answered questions. None is shown for fewer values than a two-sided 95% interval needs: 6 for p50, 59 for p95, 299 for p99.")
	}
	if res.Repeats != nil {
		m.say("pass@k, pass^k", "With c of n repeats passed: 1 − C(n−c, k)/C(n, k) that one of k "+
			"passes, C(c, k)/C(n, k) that all do; means over the questions. Variances are those of a one-way analysis of variance.")
	}
	if res.Evidence != nil {
		m.say("evidence", "A piece of evidence is returned if the passages of one document have nine in ten of its sequences of three words, and all of its numbers.")
	}
	if r := cmp.Or(res.Evidence, res.Retrieval); r != nil && r.Returned != nil {
		m.say("returned", "The texts of the first top-k passages: words between white space, and tokens at four bytes each. "+
			"Recall per 1,000 tokens is the sum of the recalls divided by that of the tokens.")
	}
	if res.Retrieval != nil {
		m.say("retrieval", "The measures of trec_eval over documents, each at the rank of its "+
			"best chunk; nDCG discounts by log₂(rank + 1) and has all gold in the ideal. Questions for which no list of chunks came count as 0.")
	}
	m.Note(form.HTML, "Everything that the figures were computed from, by its SHA-256:")
	m.hashes(res)
	return m.Section
}

// methodFacts describes how figures were computed, each method once.
type methodFacts struct {
	form.Section
	seen map[string]bool
}

func (m *methodFacts) say(what, how string) { m.FactIn(form.HTML, what, "%s", how) }

func (m *methodFacts) add(intervals ...*result.Interval) {
	for _, i := range intervals {
		if i == nil || i.Method == "" || m.seen[methodName(i.Method).String()] {
			continue
		}
		if m.seen == nil {
			m.seen = map[string]bool{}
		}
		m.seen[methodName(i.Method).String()] = true
		how := "The result file names this method."
		if known, ok := methods[i.Method]; ok {
			how = known
		}
		m.say("interval: "+methodName(i.Method).String(), how)
	}
}

// addRun adds the methods of a result.
func (m *methodFacts) addRun(res *result.Result) {
	m.add(res.Interval, res.MeanScoreInterval)
	if res.Clustered != nil {
		m.add(res.Clustered.Interval)
	}
	if res.Replay != nil {
		if e := res.Replay.Estimate(); e != nil {
			m.add(&e.Interval)
		}
	}
	if res.Retrieval != nil {
		for _, metric := range sortedKeys(res.Retrieval.Intervals) {
			i := res.Retrieval.Intervals[metric]
			m.add(&i)
		}
	}
	for _, q := range []*result.Quantiles{&res.Latency, res.Felt, &res.FirstDelta} {
		if q == nil {
			continue
		}
		m.add(q.P50Interval, q.P95Interval, q.P99Interval)
	}
	if res.Gate != nil && res.Gate.Baseline != nil {
		m.add(res.Gate.Baseline.Interval)
	}
}

// addComparison adds the methods of a comparison.
func (m *methodFacts) addComparison(c *compare.Comparison) {
	for _, r := range c.Runs {
		m.add(r.Interval)
	}
	for _, p := range c.Pairs {
		m.add(p.Interval)
		if p.Margin != nil {
			m.add(p.Margin.Interval)
		}
		for _, d := range p.Measures {
			m.add(d.Interval)
		}
		for _, l := range p.Latencies {
			m.add(l.Interval)
		}
	}
}

// gate describes how the verdict was reached.
func (m *methodFacts) gate(g *result.Gate) {
	if g.Floor == 0 && len(g.Tags) == 0 {
		return
	}
	what := "The pass rate"
	switch g.Mode {
	case result.FloorProven:
		what = "The one-sided 95% lower bound of the pass rate"
	case result.FloorNotRefuted:
		what = "The one-sided 95% upper bound of the pass rate"
	}
	m.say("floor", what+" must reach the floor. It is proven that the true rate reaches the floor if the one-sided 95% lower "+
		"bound does, and that it does not if the upper bound does not. Bounds are those of Clopper and Pearson, or those of clusters.")
}

// hashes lists the hashes of all inputs.
func (m *methodFacts) hashes(res *result.Result) {
	id := &res.Identity
	add := func(what, sum string) {
		if sum != "" {
			m.FactIn(form.HTML, what, "%s", form.Name(sum))
		}
	}
	add("dataset", id.Dataset.SHA256)
	if s := id.Dataset.Selection; s != nil {
		add("selected ids", s.SHA256)
	}
	if id.Corpus != nil {
		add("corpus", id.Corpus.SHA256)
	}
	add("command of the daemon", id.Daemon.CommandSHA256)
	if id.Judge != nil {
		add("prompt of the judge", id.Judge.PromptSHA256)
	}
	for _, sum := range sortedKeys(res.ReaderPrompts) {
		add("prompt of the reader", sum)
	}
	if r := res.Replay; r != nil {
		add("benchmark", r.Load.SHA256)
		add("sample", r.Sample.Signature)
		add("prompt of the actor", r.Actor.PromptSHA256)
		if r.Ingest != nil {
			add("contents of the brains", r.Ingest.Signature)
		}
		if r.Errata != nil {
			add("errata", r.Errata.SHA256)
		}
	}
	if g := res.Gate; g != nil && g.Baseline != nil {
		add("baseline", g.Baseline.SHA256)
	}
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func toolOf(t result.ToolID) string {
	return fmt.Sprintf("evalctl %s (%s, %s, %s/%s, %d CPUs)", t.Version, t.Commit, t.Go, t.OS, t.Arch, t.CPUs)
}
