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

// Confidence is the level of every interval, and 1-Confidence that of every test.
const Confidence = 0.95

// Comparison is everything that is known about the differences between runs. It has all that a
// renderer needs. Its strings come from results and datasets: renderers must escape them.
type Comparison struct {
	SchemaVersion int `json:"schema_version"`
	// Baseline is the name of the run that all others are compared with, empty if every run is
	// compared with every other.
	Baseline string `json:"baseline"`
	// Tag selects the questions that are compared, empty for all of them.
	Tag string `json:"tag"`
	// ClusterTag names the clusters of the questions, empty for none. ClusterDefault is set if it was
	// found in the results, and not asked for.
	ClusterTag     string `json:"cluster_tag"`
	ClusterDefault bool   `json:"cluster_default,omitempty"`
	// Repeated is set if a run asked questions several times, or a side has several runs, whose
	// answers to a question are its repeats. Then the means over the repeats of each question are
	// compared.
	Repeated bool `json:"repeated"`
	// Runs are the sides: each a run, or several of the same thing. They begin with the baseline if
	// there is one; the others are in order of the pass rate, the highest first. Indexes elsewhere
	// are into Runs.
	Runs []RunFigures `json:"runs"`
	// Keys say whether the runs measured the same thing. In Values are those of the sides: what the runs
	// of one side record, each value once.
	Keys      []key.Agreement `json:"comparability"`
	Questions Questions       `json:"questions"`
	// Primary are the measures that are tested first, of Measures. Tests is the number of their tests,
	// over which their p-values are adjusted. OtherTests is that of all other tests, those of tags
	// included, which are a family of their own. They are tested at 0.05 for the pairs of which a
	// primary measure shows a difference, and at 0.005 for others. Pairs of two baselines have no tests.
	Primary    []string `json:"primary"`
	Tests      int      `json:"tests"`
	OtherTests int      `json:"other_tests"`
	// Pairs has the pairs of runs in order of Reference and Run.
	Pairs []Pair `json:"pairs"`
	// Memory compares each run that has a memory with each baseline, in the order of
	// result.Baselines. It is empty without a baseline.
	Memory []MemoryEffect `json:"memory"`
	// Tags has the figures by tag, in order of the tag, and is empty if Tag is set.
	Tags []TagComparison `json:"tags"`
	// Differing are the questions on which the runs disagree, in order of the id.
	Differing []DifferingQuestion `json:"differing"`
	// Adjustment is the method of all adjusted p-values: "holm".
	Adjustment string `json:"adjustment"`
	// Resamples and Seed are those of sign-flip tests and their intervals.
	Resamples int    `json:"resamples"`
	Seed      uint64 `json:"seed"`
	// Notes say what a reader must know to not misread the figures, one sentence each.
	Notes []string `json:"notes"`
}

// RunFigures are the figures of one side.
type RunFigures struct {
	// Name is short and unique among the sides: the one given, the SDK or arm, or the parts in which
	// the paths differ.
	Name string `json:"name"`
	// Path is that of the first file, as given. Argument is the place of the side among the
	// arguments, from 1.
	Path     string `json:"path"`
	Argument int    `json:"argument"`
	Format   Format `json:"format"`
	SHA256   string `json:"sha256"`
	// Files are those of a side with several runs, in the order given, the first included.
	Files []File `json:"files,omitempty"`
	// WithoutMemory is which baseline the side is, empty for one with a memory.
	WithoutMemory result.Scenario `json:"without_memory,omitempty"`
	// SDK and StartedAt are zero for a run that does not record them.
	SDK       string    `json:"sdk,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Asked is the number of questions in the files, with their repeats. Selection describes how they
	// were selected, empty if they are the whole dataset.
	Asked     int    `json:"asked"`
	Selection string `json:"selection,omitempty"`
	// Counts are the outcomes of the questions that are compared, with their repeats. PassRate and
	// Interval (wilson) are nil if there are none.
	Counts   result.Counts    `json:"counts"`
	PassRate *float64         `json:"pass_rate"`
	Interval *result.Interval `json:"pass_rate_interval"`
	// Clustered is nil without clusters, repeats and several runs. With the latter its interval is
	// student_t_crossed, which has the variance between runs.
	Clustered *result.ClusteredRate `json:"clustered,omitempty"`
	// MeanScore is the mean over the scored questions, nil if there are none.
	MeanScore *float64 `json:"mean_score"`
	// Latency and FirstDelta are of the answering attempts. Felt is as the callers felt it, nil if
	// that is the same.
	Latency    result.Quantiles  `json:"latency"`
	Felt       *result.Quantiles `json:"felt,omitempty"`
	FirstDelta result.Quantiles  `json:"first_delta"`
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

// Format is the form of a file that was read.
type Format string

// The formats.
const (
	ResultFile Format = "result" // written by evalctl
	JSONLines  Format = "jsonl"  // one question a line
)

// Questions says which questions are compared.
type Questions struct {
	// Compared is the number of questions that all runs have. Selected is what remains of them for
	// Tag, and equal to Compared without one.
	Compared int `json:"compared"`
	Selected int `json:"selected"`
	// Intersected is set if some run has questions that are left out.
	Intersected bool `json:"intersected"`
	// LeftOut has the ids of each run that are not in all runs, in the order of its file.
	LeftOut [][]string `json:"left_out"`
	// WithoutGold is the number of questions that a run did not ask because they have no gold. They
	// are not part of Compared.
	WithoutGold int `json:"without_gold"`
	// SHA256 identifies the set of the compared ids as Selection.SHA256 does.
	SHA256 string `json:"sha256"`
}

// Verdict says what a test found.
type Verdict string

// The verdicts on a run compared with its reference.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	NotSeen   Verdict = "no_difference_shown"
	NotJudged Verdict = "not_judged" // what was measured does not allow a verdict
)

// Mark returns "+", "-", "~" or "?". Output for people has the words as well.
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

// Words returns the verdict as people read it.
func (v Verdict) Words() string {
	switch v {
	case Better, Worse:
		return string(v)
	case NotJudged:
		return "not judged"
	}
	return "no difference shown"
}

// Table counts the pairs of a question's two verdicts. An error is a verdict: not passed.
type Table struct {
	N int `json:"n"`
	// Clusters is the number of clusters of the pairs, 0 without a cluster tag.
	Clusters int `json:"clusters,omitempty"`
	// With repeats, a question counts for the run that passed more of them; Both is those that all
	// repeats passed, Neither those that none passed, and Tied the rest.
	Both          int `json:"both"`
	OnlyRun       int `json:"only_run"`
	OnlyReference int `json:"only_reference"`
	Neither       int `json:"neither"`
	Tied          int `json:"tied,omitempty"`
	// Unscored is the number of pairs that are left out because a run has no score.
	Unscored int `json:"unscored"`
	// Difference is the pass rate of the run less that of the reference, over the N pairs. It is nil
	// if there are none.
	Difference *float64 `json:"difference"`
	// Interval has the differences that Test does not reject. Its level is the one at which Holm's
	// method decides the test, 0.95 or higher, so that it contains 0 exactly if no difference is
	// shown. It is newcombe_paired, or named as Test, and nil if there are fewer than 6 clusters, or
	// they do not differ.
	Interval *result.Interval `json:"interval"`
	// P is two-sided, by Test: mcnemar_exact, or with repeats sign_flip, with clusters
	// sign_flip_clusters, with several runs of a side sign_flip_crossed or sign_flip_clusters_crossed.
	// A name ends in _exact if all signs were tried. It is nil if there is no test. Adjusted is P
	// adjusted for the tests of its family (Comparison.Primary). Verdict follows from it.
	Test     string   `json:"test"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	Verdict  Verdict  `json:"verdict"`
}

// Resampled reports whether the sign flips of the test, or of its interval, are random ones.
func (t *Table) Resampled() bool {
	return t.Test != "mcnemar_exact" && cmp.Or(t.Clusters, t.N) > stats.FlipClustersExact
}

// Pair compares a run with another.
type Pair struct {
	// Reference and Run are indexes of Comparison.Runs. Every difference is Run less Reference.
	Reference int `json:"reference"`
	Run       int `json:"run"`
	Table
	// ReferenceRate and RunRate are the pass rates over the N pairs, nil if there are none.
	ReferenceRate *float64 `json:"reference_rate"`
	RunRate       *float64 `json:"run_rate"`
	// SE is the standard error of Difference (paired Wald; that of the mean with repeats, of clusters,
	// or with the variance between runs), nil if it is not defined.
	SE *float64 `json:"se"`
	// OnlyRunIDs and OnlyReferenceIDs are the questions that OnlyRun and OnlyReference count, in
	// order of the id.
	OnlyRunIDs       []string `json:"only_run_ids"`
	OnlyReferenceIDs []string `json:"only_reference_ids"`
	// Power is nil with repeats or clusters.
	Power *Power `json:"power"`
	// Margin is nil without a margin.
	Margin *MarginTest `json:"margin,omitempty"`
	// Recipes has the difference by each recipe that judged both runs, and is nil unless there are two
	// or more. Robust is then whether the difference is shown, and has the same sign under every one.
	Recipes []RecipeDifference `json:"recipes,omitempty"`
	Robust  *bool              `json:"robust,omitempty"`
	// Measures are differences of means, Latencies ratios, of what both runs record.
	Measures  []MeasureDifference `json:"measures"`
	Latencies []LatencyRatio      `json:"latencies"`
}

// Power says what a comparison of this size could see, by the exact McNemar test at level Alpha,
// not adjusted for other tests.
type Power struct {
	// Alpha and Power are 0.05 and 0.8.
	Alpha float64 `json:"alpha"`
	Power float64 `json:"power"`
	// Disagreement is the share of the pairs in which one run passed and the other did not.
	Disagreement float64 `json:"disagreement"`
	// Detectable is the smallest difference that is found with that power, nil if none is, as if fewer
	// than 6 pairs disagree.
	Detectable *float64 `json:"detectable_difference"`
	// Confirm is the difference that was seen, and Needed the number of questions that finds it with
	// that power. Both are nil if no difference was seen.
	Confirm *float64 `json:"confirm_difference"`
	Needed  *int     `json:"questions_needed"`
}

// MarginTest is the test of whether a run is not worse than its reference by a margin or more.
type MarginTest struct {
	// Margin is the largest loss of pass rate that is accepted, from 0 to 1.
	Margin float64 `json:"margin"`
	// Interval is what Verdict is decided by: that of the pair at 0.95. If that is of sign flips, the
	// name of the method ends in _wider: it extends to the ends of the interval that takes the questions
	// as independent, and is nil if the flips have none.
	Interval *result.Interval `json:"interval"`
	// P is the one-sided p-value of a loss of the margin or more that Interval inverts, nil without
	// it: Verdict is not_worse exactly if P is at most 0.025.
	P *float64 `json:"p"`
	// Verdict is not adjusted for the number of runs.
	Verdict result.BaselineVerdict `json:"verdict"`
}

// MeasureDifference compares the means of a measure over the questions that have it in both runs.
type MeasureDifference struct {
	// Name is score, evidence_recall, recall, ndcg, reciprocal_rank or average_precision.
	Name string `json:"name"`
	N    int    `json:"n"`
	// ReferenceMean and RunMean are over the N questions.
	ReferenceMean float64 `json:"reference_mean"`
	RunMean       float64 `json:"run_mean"`
	Difference    float64 `json:"difference"`
	// Interval, Test, P and Adjusted are as in Table, with sign flips for single runs too.
	Interval *result.Interval `json:"interval"`
	Test     string           `json:"test"`
	P        float64          `json:"p"`
	Adjusted float64          `json:"p_adjusted"`
	Verdict  Verdict          `json:"verdict"`
}

// TagComparison compares the runs over the questions that have a tag.
type TagComparison struct {
	Tag string `json:"tag"`
	// Same are the other tags that select the same questions. Tag is that of a type of question
	// (type:), else the first by name.
	Same []string `json:"same,omitempty"`
	// Questions is the number of compared questions that have the tag. Counts, which include repeats,
	// and Intervals (wilson) are those of each run.
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
	// Answers has what became of the question in each run.
	Answers []QuestionOutcome `json:"answers"`
}

// QuestionOutcome is what became of one question in one run. With repeats it counts them.
type QuestionOutcome struct {
	Passed int `json:"passed"`
	Asked  int `json:"asked"`
	// Outcome is that of the last repeat.
	Outcome result.Outcome `json:"outcome"`
	// Score is the mean over the scored repeats, nil without any.
	Score *float64 `json:"score"`
}

// Key returns the key of a name, nil if there is none.
func (c *Comparison) Key(name string) *key.Agreement {
	for i := range c.Keys {
		if c.Keys[i].Name == name {
			return &c.Keys[i]
		}
	}
	return nil
}
