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
	// Ks are the depths, ascending: those of 1, 3, 5 and 10 that are below top-k, and top-k. What a
	// ranking contains below top-k is not known.
	Ks        []int `json:"ks"`
	Questions int   `json:"questions"`
	// NoGold is the number of questions without gold, which are left out, and Errors the number of
	// those of Questions for which no list of chunks came.
	NoGold int `json:"no_gold"`
	// Cut is the number of questions whose evidence is not known because of Record.CutPassages. They are
	// left out of the metrics by evidence. If these are missing, those by documents have the number.
	Cut    int `json:"cut,omitempty"`
	Errors int `json:"errors"`
	// Depth is nil if no list of chunks came, and in files of older versions.
	Depth *Depth `json:"depth,omitempty"`
	// Returned is nil where Depth is.
	Returned *ReturnedSize `json:"returned,omitempty"`
	// Macro has the means over the questions, Intervals the confidence intervals of the primary
	// metrics. A metric that is the same for all questions, or for all clusters, has none, because
	// nothing is known of its variance. Basis is nil without intervals.
	Macro     Metrics             `json:"macro"`
	Intervals map[string]Interval `json:"intervals"`
	Basis     *IntervalBasis      `json:"interval_basis,omitempty"`
	// Micro pools the questions: the share of all gold that was retrieved, and the share of all
	// retrieved documents that are gold.
	Micro    Metrics              `json:"micro"`
	ByTag    map[string]*TagMeans `json:"by_tag"`
	Warnings []Warning            `json:"guards"`
}

// Depth says how deep rankings went, over the questions for which a list of chunks came: how many
// chunks the daemon sent, and how many documents the first top-k of them ranked. A measure at a
// depth in documents that a ranking does not reach counts what is missing as not found.
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

// String returns the median with the range, such as "9.5 (3–10)".
func (s Spread) String() string {
	if s.Min == s.Max {
		return fmt.Sprint(s.Max)
	}
	return fmt.Sprintf("%g (%d–%d)", s.Median, s.Min, s.Max)
}

// String returns the depth for people: passages and documents of a question.
func (d *Depth) String() string {
	return fmt.Sprintf("passages %s, documents %s", d.Chunks, d.Documents)
}

// DepthText says at how many passages the rankings of a run were cut and what came, empty if that
// is not known.
func (r *Result) DepthText() string {
	if r.Retrieval == nil || r.Retrieval.Depth == nil {
		return ""
	}
	asked := fmt.Sprintf("top-k %d", r.Identity.TopK)
	if n := r.Identity.MaxPerDocument; n != nil {
		asked += fmt.Sprintf(", max_per_document %d", *n)
	}
	return fmt.Sprintf("%s: %s", asked, r.Retrieval.Depth)
}

// IntervalBasis says what the intervals of Retrieval take as independent.
type IntervalBasis struct {
	// Cluster names the clusters, which are alike within: brain, question if each was asked several
	// times, or the cluster tag. It is empty if questions are independent.
	Cluster string `json:"cluster,omitempty"`
	// Units is the number of clusters, or of questions without clusters.
	Units int `json:"units"`
	// Resamples and Seed are those of the bootstrap, 0 if the intervals are t intervals.
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
// mrr, and nDCG at 10, as is usual, or at top-k if that is less. Those are left out that r does not
// have, because they are not measurable.
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
