package result

// Methods of intervals of rates and means. A Proof uses MethodExact or MethodClustered.
const (
	// MethodWilson is the score interval for independent questions (Wilson 1927).
	MethodWilson = "wilson"
	// MethodExact is the exact interval for independent questions (Clopper and Pearson 1934).
	MethodExact = "clopper_pearson"
	// MethodClustered is the t interval of Result.Clustered. In a Proof it is the exact interval
	// where that is wider: with each cluster as one question if all clusters have the same rate,
	// and 0 to 1 for a single cluster.
	MethodClustered = "clustered_t"
	// MethodT is Student's t interval of a mean of independent questions.
	MethodT = "student_t"
	// MethodBCa is the bias-corrected and accelerated bootstrap interval for independent questions
	// (Efron 1987).
	MethodBCa = "bootstrap_bca"
	// MethodClusterBootstrap is the bootstrap interval over clusters, by expanded percentiles
	// (Hesterberg 2015).
	MethodClusterBootstrap = "cluster_bootstrap"
	// MethodLinearised is Student's t on the linearised values of a coefficient (Gwet 2014).
	MethodLinearised = "linearised_t"
	// MethodLinearisedClusters is MethodLinearised over clusters of answers.
	MethodLinearisedClusters = "linearised_t_clusters"
	// MethodStratifiedClusters is the t interval over clusters of an estimate from strata.
	MethodStratifiedClusters = "clustered_t_stratified"
	// MethodOrder is the interval of a percentile by order statistics.
	MethodOrder = "order_statistics"
)

// Interval is a confidence interval of a rate or a mean.
type Interval struct {
	Method     string  `json:"method"`
	Confidence float64 `json:"confidence"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}
