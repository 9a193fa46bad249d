package result

import (
	"cmp"
	"strings"
)

// MaxClusterTags limits the tags of one question that contain a colon, and so may name clusters.
const MaxClusterTags = 100

const (
	// ByBrain clusters questions by their brain, or by their haystack.
	ByBrain = "brain"
	// NoClusters treats questions as independent, whatever they share.
	NoClusters = "none"
)

// clusterTags are the automatic cluster tags, in order of preference.
var clusterTags = []string{ByBrain, "conversation", "haystack"}

// ClusterOf returns the cluster of a question by a cluster tag: the first of its tags that begins
// with the cluster tag and a colon, or for ByBrain "brain:" with its brain. ok is false without
// one.
func ClusterOf(tag string, tags []string, brain string) (cluster string, ok bool) {
	if tag == ByBrain && brain != "" {
		return ByBrain + ":" + brain, true
	}
	for _, t := range tags {
		if strings.HasPrefix(t, tag+":") {
			return t, true
		}
	}
	return "", false
}

// Shared returns the brain of a question, or else its haystack.
func (r *Record) Shared() string { return cmp.Or(r.Brain, r.Haystack) }

// ClusterFinder finds clusters of questions without a configured tag.
type ClusterFinder struct {
	questions int
	clusters  map[string]map[string]bool // by cluster tag
	alone     map[string]int             // questions without a cluster, by cluster tag
}

// Add counts a question. Call it once for repeated questions.
func (f *ClusterFinder) Add(tags []string, brain string) {
	if f.clusters == nil {
		f.clusters, f.alone = map[string]map[string]bool{}, map[string]int{}
		for _, tag := range clusterTags {
			f.clusters[tag] = map[string]bool{}
		}
	}
	f.questions++
	for _, tag := range clusterTags {
		if cluster, ok := ClusterOf(tag, tags, brain); ok {
			f.clusters[tag][cluster] = true
		} else {
			f.alone[tag]++
		}
	}
}

// Tag returns the first of brain, conversation and haystack that puts every question in a cluster,
// if there are several clusters and some have several questions. Otherwise it is empty: questions
// are independent.
func (f *ClusterFinder) Tag() string {
	for _, tag := range clusterTags {
		if n := len(f.clusters[tag]); n > 1 && n < f.questions && f.alone[tag] == 0 {
			return tag
		}
	}
	return ""
}
