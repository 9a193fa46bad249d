package wording

import (
	"fmt"
	"strconv"

	"evalctl/harness/result"
)

// methodNames are the displayed names of methods.
var methodNames = map[string]string{
	result.MethodWilson: "Wilson", result.MethodExact: "Clopper-Pearson", result.MethodClustered: "clustered t", result.MethodT: "t",
	result.MethodBCa: "BCa bootstrap", result.MethodClusterBootstrap: "cluster bootstrap", result.MethodOrder: "order statistics",
	result.MethodLinearised: "linearised t", result.MethodLinearisedClusters: "linearised t over clusters", result.MethodStratifiedClusters: "stratified t over clusters",
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

// Method returns the displayed name of a method. For an unknown method it returns the argument,
// which is content of a file, and ok is false.
func Method(method string) (name string, ok bool) {
	if name, ok = methodNames[method]; ok {
		return name, true
	}
	return method, false
}

// IntervalName returns the level and the method of an interval, such as "95% Wilson". For an unknown
// method it returns only the level.
func IntervalName(i *result.Interval) string {
	if name, ok := Method(i.Method); ok {
		return Level(i) + " " + name
	}
	return Level(i) + " CI"
}

// Level formats the confidence of an interval, such as "95%" or "98.3%".
func Level(i *result.Interval) string {
	text := ""
	for digits := 3; digits < 10; digits++ { // not "100%" for a level below it
		if text = strconv.FormatFloat(100*i.Confidence, 'g', digits, 64); text != "100" && text != "1e+02" {
			break
		}
	}
	return text + "%"
}

// Ends formats the ends of an interval, such as "0.812–0.968", "–" for nil.
func Ends(i *result.Interval) string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f–%.3f", i.Low, i.High)
}

// Interval formats an interval with its level and method, such as "95% CI 0.812–0.968 (Wilson)". It
// is "no interval" for nil, and does not name an unknown method.
func Interval(i *result.Interval) string {
	if i == nil {
		return "no interval"
	}
	name, ok := Method(i.Method)
	if !ok {
		name = "another method"
	}
	return fmt.Sprintf("%s CI %s (%s)", Level(i), Ends(i), name)
}

// RetrievalInterval returns the level and the method of the intervals of r, such as "95% cluster
// bootstrap". It is empty if there are none.
func RetrievalInterval(r *result.Retrieval) string {
	for _, name := range r.PrimaryMetrics() {
		if i, ok := r.Intervals[name]; ok {
			return IntervalName(&i)
		}
	}
	return ""
}
