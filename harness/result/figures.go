package result

import "strings"

// TagFigures are the outcomes of the questions with a tag.
type TagFigures struct {
	Counts
	// PassRate and Interval are nil if Total is 0. If the run has clusters, or repeats of
	// questions, Interval is over them, like ClusteredRate.Interval; it is then also nil if they do
	// not determine one, such as a single cluster.
	PassRate *float64  `json:"pass_rate"`
	Interval *Interval `json:"pass_rate_interval"`
}

// Duplicate reports whether a tag of a replay repeats a stratum: X and category:X do if as many
// questions have them as have type:X, the tag of the stratum, with the same outcomes.
func (r *Result) Duplicate(tag string) bool {
	if r.Replay == nil || r.Tags[tag] == nil {
		return false
	}
	stratum := r.Tags["type:"+strings.TrimPrefix(tag, "category:")]
	return stratum != nil && stratum.Counts == r.Tags[tag].Counts
}

// ClusteredRate is the uncertainty of the pass rate if the questions of a cluster, such as those
// about one conversation, are more alike than others (statistics.md B.3; Miller 2024, appendix A).
type ClusteredRate struct {
	// Tag names the cluster of a question: X if it has the tag Tag:X. It is empty if the clusters
	// are the repeats of each question.
	Tag      string `json:"tag"`
	Clusters int    `json:"clusters"`
	// SE is the clustered standard error with the correction for few clusters, nil for fewer than
	// two clusters. NaiveSE treats the questions as independent.
	SE      *float64 `json:"se"`
	NaiveSE float64  `json:"naive_se"`
	// Interval is a t interval with Clusters-1 degrees of freedom, nil without SE. Its method is
	// clustered_t, or wilson_clusters if all questions passed or none did: Wilson's interval for a
	// question of each cluster. It is also nil if SE is 0 otherwise.
	Interval *Interval `json:"interval"`
}

// Believed returns the interval of the pass rate that allows for similar questions: the interval of
// Clustered if it is set, else Interval. It is nil if neither determines one.
func (r *Result) Believed() *Interval {
	if r.Clustered != nil {
		return r.Clustered.Interval
	}
	return r.Interval
}

// Repeats are the figures of a run that asks each question K times.
type Repeats struct {
	K int `json:"k"`
	// Questions is the number of questions that were asked K times. The figures from At to Flaky,
	// and the variances, are about them.
	Questions int `json:"questions"`
	// At has the figures for 1 to K attempts. It is empty without Questions.
	At []RepeatsAt `json:"at"`
	// Stable questions always passed, Never questions never. Flaky lists the others by id.
	Stable int             `json:"stable"`
	Never  int             `json:"never"`
	Flaky  []FlakyQuestion `json:"flaky"`
	// Rates are the pass rates of the repeats, in order.
	Rates []float64 `json:"pass_rates"`
	// QuestionVariance is the variance between questions, RunVariance the variance between repeats
	// of one question (one-way analysis of variance). Both are nil for fewer than two questions.
	QuestionVariance *float64 `json:"question_variance"`
	RunVariance      *float64 `json:"run_variance"`
}

// RepeatsAt are the means over the questions of the probabilities that one of K attempts passes,
// and that all K do (statistics.md B.9).
type RepeatsAt struct {
	K       int     `json:"k"`
	PassAt  float64 `json:"pass_at_k"`
	PassHat float64 `json:"pass_hat_k"`
}

// FlakyQuestion is a question that passed some of its repeats.
type FlakyQuestion struct {
	ID     string `json:"id"`
	Passed int    `json:"passed"`
	Asked  int    `json:"asked"`
}
