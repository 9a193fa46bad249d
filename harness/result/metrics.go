package result

import (
	"fmt"
	"slices"
)

// Metrics are measures of retrieval by name, such as recall@5 or mrr.
type Metrics map[string]float64

// Retrieval is the quality of the rankings of a run, over the questions with gold. A question
// without an answer counts as 0 in every metric.
type Retrieval struct {
	// Ks are the depths, ascending: top-k, and any of 1, 3, 5 and 10 below it. Rankings are unknown
	// beyond top-k.
	Ks        []int `json:"ks"`
	Questions int   `json:"questions"`
	// NoGold is the number of questions without gold, which are left out. Errors is the number of
	// Questions without a list of chunks.
	NoGold int `json:"no_gold"`
	// Cut is the number of questions with unknown evidence because of Record.CutPassages. They are
	// left out of the metrics by evidence. If these metrics are missing, the metrics by documents
	// have the number.
	Cut    int `json:"cut,omitempty"`
	Errors int `json:"errors"`
	// Depth is nil without any list of chunks, and in files of older versions.
	Depth *Depth `json:"depth,omitempty"`
	// Returned is nil where Depth is.
	Returned *ReturnedSize `json:"returned,omitempty"`
	// Macro has the means over the questions, Intervals the confidence intervals of the primary
	// metrics. A metric that is the same for all questions, or for all clusters, has no interval,
	// because its variance is unknown. Basis is nil without intervals.
	Macro     Metrics             `json:"macro"`
	Intervals map[string]Interval `json:"intervals"`
	Basis     *IntervalBasis      `json:"interval_basis,omitempty"`
	// Micro pools the questions: the share of all gold that was retrieved, and the share of all
	// retrieved documents that are gold.
	Micro    Metrics              `json:"micro"`
	ByTag    map[string]*TagMeans `json:"by_tag"`
	Warnings []Warning            `json:"guards"`
}

// Depth is the depth of rankings, over the questions with a list of chunks: the number of chunks
// sent by the daemon, and the number of documents ranked by the first top-k chunks. If a ranking is
// shorter than the depth of a measure, missing documents count as not found.
type Depth struct {
	Chunks    Spread `json:"chunks"`
	Documents Spread `json:"documents"`
}

// Spread is the range and the median of whole numbers.
type Spread struct {
	Min    int     `json:"min"`
	Median float64 `json:"median"`
	Max    int     `json:"max"`
}

// String formats the median with the range, such as "9.5 (3–10)".
func (s Spread) String() string {
	if s.Min == s.Max {
		return fmt.Sprint(s.Max)
	}
	return fmt.Sprintf("%g (%d–%d)", s.Median, s.Min, s.Max)
}

// String formats the depth: passages and documents per question.
func (d *Depth) String() string {
	return fmt.Sprintf("passages %s, documents %s", d.Chunks, d.Documents)
}

// IntervalBasis is the basis of the intervals of Retrieval.
type IntervalBasis struct {
	// Cluster names the clusters: brain, question if each was asked several times, or the cluster
	// tag. It is empty if questions are independent.
	Cluster string `json:"cluster,omitempty"`
	// Units is the number of clusters, or of questions without clusters.
	Units int `json:"units"`
	// Resamples and Seed are parameters of the bootstrap, 0 for t intervals.
	Resamples int    `json:"resamples,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`
}

// TagMeans are the metrics of the N questions with gold that have a tag.
type TagMeans struct {
	N     int     `json:"n"`
	Macro Metrics `json:"macro"`
	Micro Metrics `json:"micro"`
}

// PrimaryMetrics returns the names of the metrics that summarise r: recall, any and all at top-k,
// mrr, and nDCG at 10, as is usual, or at top-k if it is smaller. Metrics that r lacks, because
// they cannot be measured, are left out.
func (r *Retrieval) PrimaryMetrics() []string {
	topK := r.Ks[len(r.Ks)-1]
	names := []string{
		fmt.Sprintf("recall@%d", topK), fmt.Sprintf("any@%d", topK), fmt.Sprintf("all@%d", topK),
		"mrr", fmt.Sprintf("ndcg@%d", min(topK, 10)),
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, known := r.Macro[name]
		return r.Macro != nil && !known
	})
}
