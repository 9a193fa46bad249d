package result

import (
	"cmp"
	"strings"
)

// MaxClusterTags limits the tags of one question that have a colon, so that each of them may name a
// cluster.
const MaxClusterTags = 100

const (
	// ByBrain is the cluster tag of questions that are asked in one brain, or are about one haystack.
	ByBrain = "brain"
	// NoClusters is the cluster tag of questions that are taken as independent, whatever they share.
	NoClusters = "none"
)

// clusterTags are those of questions that share what they are about, the first that fits first.
var clusterTags = []string{ByBrain, "conversation", "haystack"}

// ClusterOf returns the cluster of a question by a cluster tag: the first of its tags that begins
// with it and a colon, or for ByBrain the brain with that before it. ok is false without one.
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

// Shared returns the brain in which a question was asked, or else the haystack that it is about.
func (r *Record) Shared() string { return cmp.Or(r.Brain, r.Haystack) }

// ClusterFinder finds out whether questions have clusters that need no naming.
type ClusterFinder struct {
	questions int
	clusters  map[string]map[string]bool // by cluster tag
	alone     map[string]int             // questions without a cluster, by cluster tag
}

// Add counts a question, once however often it is asked.
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
// if there are several clusters and some have several questions. It is empty if none does: then
// questions are independent.
func (f *ClusterFinder) Tag() string {
	for _, tag := range clusterTags {
		if n := len(f.clusters[tag]); n > 1 && n < f.questions && f.alone[tag] == 0 {
			return tag
		}
	}
	return ""
}
