package result

import (
	"fmt"
	"strconv"
)

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

// methodNames are the displayed names of methods.
var methodNames = map[string]string{
	MethodWilson: "Wilson", MethodExact: "Clopper-Pearson", MethodClustered: "clustered t", MethodT: "t",
	MethodBCa: "BCa bootstrap", MethodClusterBootstrap: "cluster bootstrap", MethodOrder: "order statistics",
	MethodLinearised: "linearised t", MethodLinearisedClusters: "linearised t over clusters", MethodStratifiedClusters: "stratified t over clusters",
	"wilson_clusters": "Wilson over clusters", "wilson_stratified": "stratified Wilson",
	"newcombe_paired": "paired Newcombe", "student_t_clustered": "clustered t", "student_t_crossed": "t over questions and runs",
	"sign_flip": "sign flips", "sign_flip_wider": "sign flips, or the paired t where wider",
	"sign_flip_crossed": "sign flips and t over runs", "sign_flip_crossed_wider": "sign flips and t over runs, or the paired t where wider",
	"sign_flip_clusters": "cluster sign flips", "sign_flip_clusters_wider": "cluster sign flips, or the pairs' where wider",
	"sign_flip_clusters_crossed":       "cluster sign flips and t over runs",
	"sign_flip_clusters_crossed_wider": "cluster sign flips and t over runs, or the pairs' where wider",
	"student_t_welch_log":              "Welch’s t over runs",
	"lang-reiczigel":                   "Lang-Reiczigel",
}

// MethodName returns the displayed name of a method. For an unknown method it returns the argument,
// which is content of a file, and ok is false.
func MethodName(method string) (name string, ok bool) {
	if name, ok = methodNames[method]; ok {
		return name, true
	}
	return method, false
}

// Name returns the level and the method of an interval, such as "95% Wilson". For an unknown method
// it returns only the level.
func (i *Interval) Name() string {
	if name, ok := MethodName(i.Method); ok {
		return i.Level() + " " + name
	}
	return i.Level() + " CI"
}

// Level formats the confidence of an interval, such as "95%" or "98.3%".
func (i *Interval) Level() string {
	text := ""
	for digits := 3; digits < 10; digits++ { // not "100%" for a level below it
		if text = strconv.FormatFloat(100*i.Confidence, 'g', digits, 64); text != "100" && text != "1e+02" {
			break
		}
	}
	return text + "%"
}

// Ends formats the ends of an interval, such as "0.812–0.968", "–" for nil.
func (i *Interval) Ends() string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f–%.3f", i.Low, i.High)
}

// Text formats an interval with its level and method, such as "95% CI 0.812–0.968 (Wilson)". It is
// "no interval" for nil.
func (i *Interval) Text() string {
	if i == nil {
		return "no interval"
	}
	name, ok := MethodName(i.Method)
	if !ok {
		return i.Level() + " CI " + i.Ends()
	}
	return fmt.Sprintf("%s CI %s (%s)", i.Level(), i.Ends(), name)
}

// IntervalName returns the level and the method of the intervals of r, such as "95% cluster
// bootstrap". It is empty if there are none.
func (r *Retrieval) IntervalName() string {
	for _, name := range r.PrimaryMetrics() {
		if i, ok := r.Intervals[name]; ok {
			return i.Name()
		}
	}
	return ""
}

// Clusters returns the name of the clusters of the intervals of r, which is content of the file. It
// is empty if questions are independent.
func (r *Retrieval) Clusters() string {
	if r.Basis == nil {
		return ""
	}
	return r.Basis.Cluster
}
