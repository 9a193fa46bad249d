package compare

import (
	"cmp"
	"time"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// SchemaVersion is the version of the JSON form of Comparison.
const SchemaVersion = 1

// Confidence is the level of every interval. Tests use the level 1-Confidence.
const Confidence = 0.95

// Comparison holds everything that a renderer needs to describe the differences between runs. Its
// strings come from results and datasets: renderers must escape them.
type Comparison struct {
	SchemaVersion int `json:"schema_version"`
	// Baseline is the name of the run that all others are compared with, empty if every run is
	// compared with every other.
	Baseline string `json:"baseline"`
	// Tag is the tag of the compared questions, empty for all questions.
	Tag string `json:"tag"`
	// ClusterTag names the clusters of the questions, empty for none. ClusterDefault is set if the
	// tag was inferred from the results.
	ClusterTag     string `json:"cluster_tag"`
	ClusterDefault bool   `json:"cluster_default,omitempty"`
	// Repeated is set if a run asked questions several times or a side has several runs. The means
	// over the repeats of each question are then compared.
	Repeated bool `json:"repeated"`
	// Runs are the sides: the baseline first, if there is one, then the others by descending pass
	// rate. All run indexes in a Comparison refer to Runs.
	Runs []RunFigures `json:"runs"`
	// Keys say whether the runs measured the same thing. Values has one entry per side, with each
	// distinct value of the side's runs once.
	Keys      []key.Agreement `json:"comparability"`
	Questions Questions       `json:"questions"`
	// Primary are the Measures that are tested first; their p-values are adjusted over Tests tests.
	// OtherTests counts all other tests, by tag included, which form their own family. These are
	// tested at 0.05 for pairs where a primary measure shows a difference, and at 0.005 for other
	// pairs. Pairs of two baselines have no tests.
	Primary    []string `json:"primary"`
	Tests      int      `json:"tests"`
	OtherTests int      `json:"other_tests"`
	// Pairs are the pairs of runs in order of Reference and Run.
	Pairs []Pair `json:"pairs"`
	// Memory compares each run with a memory to each baseline, in the order of result.Baselines.
	Memory []MemoryEffect `json:"memory"`
	// Tags has the figures for each tag, in order of the tag. It is empty if Tag is set.
	Tags []TagComparison `json:"tags"`
	// Differing are the questions on which the runs disagree, in order of the id.
	Differing []DifferingQuestion `json:"differing"`
	// Adjustment is the method of all adjusted p-values: "holm".
	Adjustment string `json:"adjustment"`
	// Resamples and Seed are for sign-flip tests and their intervals.
	Resamples int    `json:"resamples"`
	Seed      uint64 `json:"seed"`
	// Notes are caveats for reading the figures, one sentence each.
	Notes []string `json:"notes"`

	// Options are the options that Compare was given.
	Options Options `json:"-"`
}

// RunFigures are the figures of one side.
type RunFigures struct {
	// Name is short and unique among the sides: the given name, the SDK or arm, or the parts in
	// which the paths differ.
	Name string `json:"name"`
	// Path is the side's first file, as given. Argument is the side's position among the arguments,
	// from 1.
	Path     string `json:"path"`
	Argument int    `json:"argument"`
	Format   Format `json:"format"`
	SHA256   string `json:"sha256"`
	// Files lists all files of a side with several runs, in the order given.
	Files []File `json:"files,omitempty"`
	// WithoutMemory names the baseline that this side is, empty for a side with a memory.
	WithoutMemory result.Scenario `json:"without_memory,omitempty"`
	// SDK and StartedAt are zero for a run that does not record them.
	SDK       string    `json:"sdk,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Invalid says why the pass rate of a result is not a score, empty if it is one.
	Invalid string `json:"invalid,omitempty"`
	// Asked is the number of questions in the files, repeats included. Selection describes how they
	// were selected, empty for the whole dataset.
	Asked     int    `json:"asked"`
	Selection string `json:"selection,omitempty"`
	// Counts are the outcomes of the compared questions, repeats included. PassRate and Interval
	// (wilson) are nil if there are none.
	Counts   result.Counts    `json:"counts"`
	PassRate *float64         `json:"pass_rate"`
	Interval *result.Interval `json:"pass_rate_interval"`
	// Clustered is nil without clusters, repeats or several runs. With several runs, its interval
	// is student_t_crossed, which includes the variance between runs.
	Clustered *result.ClusteredRate `json:"clustered,omitempty"`
	// MeanScore is the mean over the scored questions, nil without any.
	MeanScore *float64 `json:"mean_score"`
	// Latency and FirstDelta are for the answering attempts only. Felt includes failed attempts and
	// waits, as callers experienced it; it is nil if equal to Latency.
	Latency    result.Quantiles  `json:"latency"`
	Felt       *result.Quantiles `json:"felt,omitempty"`
	FirstDelta result.Quantiles  `json:"first_delta"`
}

// Believed returns the interval of PassRate that allows for similar questions and for different
// runs, as result.Result.Believed does.
func (f *RunFigures) Believed() *result.Interval {
	if f.Clustered != nil {
		return f.Clustered.Interval
	}
	return f.Interval
}

// File is one of several runs of a side.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Paths returns the paths of all files of the side.
func (f *RunFigures) Paths() []string {
	if len(f.Files) == 0 {
		return []string{f.Path}
	}
	paths := make([]string, len(f.Files))
	for i, file := range f.Files {
		paths[i] = file.Path
	}
	return paths
}

// Format is the format of an input file.
type Format string

// The formats.
const (
	ResultFile Format = "result" // written by evalctl
	JSONLines  Format = "jsonl"  // one question a line
)

// Questions describes which questions are compared.
type Questions struct {
	// Compared is the number of common questions. Selected is how many of them have Tag, equal to
	// Compared without a tag.
	Compared int `json:"compared"`
	Selected int `json:"selected"`
	// Intersected is set if questions that some run lacks were left out.
	Intersected bool `json:"intersected"`
	// LeftOut has, for each run in file order, the ids that another run lacks.
	LeftOut [][]string `json:"left_out"`
	// WithoutGold is the number of questions that a run did not ask because they have no gold,
	// NotMeasurable because its target lacks an operation. Unjudged is the number of imported
	// answers without a verdict. All of them are excluded from Compared.
	WithoutGold   int `json:"without_gold"`
	NotMeasurable int `json:"not_measurable,omitempty"`
	Unjudged      int `json:"unjudged,omitempty"`
	// SHA256 identifies the set of compared ids, as Selection.SHA256 does.
	SHA256 string `json:"sha256"`
}

// Excluded returns the number of questions that do not count in some run.
func (q *Questions) Excluded() int { return q.WithoutGold + q.NotMeasurable + q.Unjudged }

// Verdict is the outcome of a test.
type Verdict string

// The verdicts on a run compared with its reference.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	NotSeen   Verdict = "no_difference_shown"
	NotJudged Verdict = "not_judged" // the measurements do not allow a verdict
)

// Mark returns "+", "-", "~" or "?", which output for people shows beside the words.
func (v Verdict) Mark() string {
	switch v {
	case Better:
		return "+"
	case Worse:
		return "-"
	case NotJudged:
		return "?"
	}
	return "~"
}

// Words returns the verdict in words.
func (v Verdict) Words() string {
	switch v {
	case Better, Worse:
		return string(v)
	case NotJudged:
		return "not judged"
	}
	return "no difference shown"
}

// Table counts the pairs of verdicts, one pair per question. An error counts as not passed.
type Table struct {
	N int `json:"n"`
	// Clusters is the number of clusters of the pairs, 0 without a cluster tag.
	Clusters int `json:"clusters,omitempty"`
	// With repeats, a question counts for the run that passed more of them. Both counts questions
	// that passed every repeat, Neither those that passed none, and Tied the rest.
	Both          int `json:"both"`
	OnlyRun       int `json:"only_run"`
	OnlyReference int `json:"only_reference"`
	Neither       int `json:"neither"`
	Tied          int `json:"tied,omitempty"`
	// Unscored is the number of pairs left out because a run has no score.
	Unscored int `json:"unscored"`
	// Difference is the run's pass rate minus the reference's over the N pairs, nil if N is 0.
	Difference *float64 `json:"difference"`
	// Interval contains the differences that Test does not reject. Its level is the one at which
	// Holm's method decides the test, at least 0.95, so that it excludes 0 exactly if a difference
	// is shown. Its method is newcombe_paired or named as Test. It is nil if there are fewer than 6
	// clusters or no differing ones.
	Interval *result.Interval `json:"interval"`
	// P is two-sided, computed by Test: mcnemar_exact; sign_flip with repeats; sign_flip_clusters
	// with clusters; sign_flip_crossed or sign_flip_clusters_crossed if a side has several runs.
	// The suffix _exact means that all signs were tried. P is nil without a test. Adjusted is P
	// adjusted for its family of tests (see Comparison.Primary) and decides Verdict.
	Test     string   `json:"test"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	Verdict  Verdict  `json:"verdict"`
}

// Resampled reports whether the test or its interval used random sign flips.
func (t *Table) Resampled() bool {
	return t.Test != "mcnemar_exact" && cmp.Or(t.Clusters, t.N) > stats.FlipClustersExact
}

// Pair compares two runs.
type Pair struct {
	// Reference and Run are indexes of Comparison.Runs. Every difference is Run minus Reference.
	Reference int `json:"reference"`
	Run       int `json:"run"`
	Table
	// ReferenceRate and RunRate are the pass rates over the N pairs, nil if there are none.
	ReferenceRate *float64 `json:"reference_rate"`
	RunRate       *float64 `json:"run_rate"`
	// SE is the standard error of Difference: paired Wald; of the mean with repeats; of clusters;
	// or with the variance between runs. It is nil if undefined.
	SE *float64 `json:"se"`
	// OnlyRunIDs and OnlyReferenceIDs are the questions that OnlyRun and OnlyReference count, in
	// order of the id.
	OnlyRunIDs       []string `json:"only_run_ids"`
	OnlyReferenceIDs []string `json:"only_reference_ids"`
	// LeakedIDs are the questions in which a forbidden text came back in most answers of the run but
	// in none of the reference, which has some. They are not tested: one is a fault, whatever the
	// rates.
	LeakedIDs []string `json:"leaked_ids,omitempty"`
	// Power is nil with repeats or clusters.
	Power *Power `json:"power"`
	// Margin is nil without a margin.
	Margin *MarginTest `json:"margin,omitempty"`
	// Recipes has the difference under each recipe that judged both runs, nil for fewer than two
	// recipes. Robust then says whether the difference of the pass rate is shown and has the
	// same sign under all of them.
	Recipes []RecipeDifference `json:"recipes,omitempty"`
	Robust  *bool              `json:"robust,omitempty"`
	// Measures are differences of means and Latencies are ratios, for everything that both runs
	// record.
	Measures  []MeasureDifference `json:"measures"`
	Latencies []LatencyRatio      `json:"latencies"`
	// Cached is the number of questions that Latencies leave out because evalctl's cache
	// answered one of the runs. With fewer than Testable others, latencies are not judged.
	Cached int `json:"cached,omitempty"`
}

// Power says what a comparison of this size can detect with the exact McNemar test at level Alpha,
// not adjusted for other tests.
type Power struct {
	// Alpha and Power are 0.05 and 0.8.
	Alpha float64 `json:"alpha"`
	Power float64 `json:"power"`
	// Disagreement is the share of pairs in which exactly one run passed.
	Disagreement float64 `json:"disagreement"`
	// Detectable is the smallest difference that is detected with this power, nil if none is, for
	// example if fewer than 6 pairs disagree.
	Detectable *float64 `json:"detectable_difference"`
	// Confirm is the observed difference and Needed the number of questions that detects it with
	// this power. Both are nil if the observed difference is 0.
	Confirm *float64 `json:"confirm_difference"`
	Needed  *int     `json:"questions_needed"`
}

// MarginTest tests whether a run is worse than its reference by a margin or more.
type MarginTest struct {
	// Margin is the largest accepted loss of pass rate, from 0 to 1.
	Margin float64 `json:"margin"`
	// Interval decides Verdict. It is the pair's interval at 0.95. A sign-flip interval is widened
	// to include the interval that treats questions as independent, its method then ends in _wider,
	// and it is nil if there is no sign-flip interval.
	Interval *result.Interval `json:"interval"`
	// P is the one-sided p-value of a loss of at least the margin, consistent with Interval:
	// Verdict is not_worse exactly if P is at most 0.025. It is nil without Interval.
	P *float64 `json:"p"`
	// Verdict is not adjusted for the number of runs.
	Verdict result.BaselineVerdict `json:"verdict"`
}

// MeasureDifference compares the means of a measure over the questions for which both runs have it.
type MeasureDifference struct {
	// Name is score, evidence_recall, recall, ndcg, reciprocal_rank or average_precision.
	Name string `json:"name"`
	N    int    `json:"n"`
	// ReferenceMean and RunMean are over the N questions.
	ReferenceMean float64 `json:"reference_mean"`
	RunMean       float64 `json:"run_mean"`
	Difference    float64 `json:"difference"`
	// Interval, Test, P and Adjusted are as in Table, but sign flips are used for single runs too.
	Interval *result.Interval `json:"interval"`
	Test     string           `json:"test"`
	P        float64          `json:"p"`
	Adjusted float64          `json:"p_adjusted"`
	Verdict  Verdict          `json:"verdict"`
}

// TagComparison compares the runs over the questions that have a tag.
type TagComparison struct {
	Tag string `json:"tag"`
	// Same lists other tags that select the same questions. Tag is then a question type (type:) if
	// there is one, else the first by name.
	Same []string `json:"same,omitempty"`
	// Questions is the number of compared questions with the tag. Counts, which include repeats,
	// and Intervals have one entry per run. Intervals are as RunFigures.Believed.
	Questions int                `json:"questions"`
	Counts    []result.Counts    `json:"counts"`
	Intervals []*result.Interval `json:"pass_rate_intervals"`
	// Pairs are in the order of Comparison.Pairs.
	Pairs []TagPair `json:"pairs"`
}

// TagPair compares two runs over the questions that have a tag.
type TagPair struct {
	Reference int `json:"reference"`
	Run       int `json:"run"`
	Table
}

// DifferingQuestion is a question on which runs disagree.
type DifferingQuestion struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Tags     []string `json:"tags,omitempty"`
	// Answers has the question's outcome in each run.
	Answers []QuestionOutcome `json:"answers"`
}

// QuestionOutcome is the outcome of one question in one run. Passed and Asked count repeats.
type QuestionOutcome struct {
	Passed int `json:"passed"`
	Asked  int `json:"asked"`
	// Outcome is the last repeat's.
	Outcome result.Outcome `json:"outcome"`
	// Score is the mean over the scored repeats, nil without any.
	Score *float64 `json:"score"`
}

// Key returns the key with this name, nil if there is none.
func (c *Comparison) Key(name string) *key.Agreement {
	for i := range c.Keys {
		if c.Keys[i].Name == name {
			return &c.Keys[i]
		}
	}
	return nil
}
