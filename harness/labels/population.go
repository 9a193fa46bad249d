// Package labels draws answers of a result for people to label, stores the labels, and estimates
// the pass rate by the labellers' standard, whatever the judge.
package labels

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// Answer is an answer that can be labelled.
type Answer struct {
	// ID is the question's id, followed by "#" and the number of the repeat if it was asked several
	// times.
	ID           string
	Question     string
	QuestionDate string
	Reference    string
	Expected     []string
	Text         string
	Type         string
	// Passed is the verdict of the result's scorer. Labellers must not see it.
	Passed bool

	// kind is what the design tells answers apart by, and stratum the index of its stratum.
	kind             string
	stratum, cluster int
}

// Population has the answers of a result in drawing order.
type Population struct {
	Path   string
	Result result.Result
	Design Design
	// Cluster is the tag for clusters of questions, as in result.ClusterOf.
	Cluster string
	// Answers are in random order within their strata. Any number of the first ones is a sample
	// with known inclusion probabilities.
	Answers []Answer
	// Strata counts the answers by stratum.
	Strata []Stratum
	// Failed are the questions without an answer. They did not pass, whatever a label says.
	Failed []Answer

	clusters int
}

// Stratum is a part of the answers that is sampled separately.
type Stratum struct {
	Name    string
	Answers int
}

// Open reads a result's answers and draws their order.
func Open(path string, design Design) (*Population, error) {
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &Population{Path: path, Result: r.Result(), Design: design}
	if err = p.findCluster(r); err == nil {
		err = p.read(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(p.Answers) == 0 {
		return nil, fmt.Errorf("%s: no question has an answer that can be labelled", path)
	}
	if design.Sample == Stratified {
		p.merge()
	}
	p.draw()
	return p, nil
}

func (p *Population) read(r *resultfile.Reader) error {
	strata, clusters := map[string]int{}, map[string]int{}
	for rec, err := range r.Questions() {
		if err != nil {
			return err
		}
		if !rec.Outcome.Counts() {
			continue
		}
		a := Answer{
			ID: rec.ID, Question: rec.Question, QuestionDate: rec.QuestionDate, Reference: rec.Reference,
			Expected: rec.Expected, Text: rec.Answer, Type: rec.JudgeType, Passed: rec.Passed,
			cluster: number(clusters, p.clusterOf(&rec)),
		}
		if rec.Repeat > 0 {
			a.ID = fmt.Sprintf("%s#%d", rec.ID, rec.Repeat)
		}
		a.kind, err = p.Design.stratum(&rec)
		if rec.Outcome == result.Errored {
			p.Failed = append(p.Failed, a) // A panel has no verdicts on it, and err is of no interest.
			continue
		}
		if err != nil {
			return err
		}
		if a.stratum = number(strata, a.kind); a.stratum == len(p.Strata) {
			p.Strata = append(p.Strata, Stratum{Name: a.kind})
		}
		p.Strata[a.stratum].Answers++
		p.Answers = append(p.Answers, a)
	}
	p.clusters = len(clusters)
	return nil
}

// differs returns an error if nothing shows how much questions differ, so that no number of labels
// is enough for an interval.
func (p *Population) differs() error {
	switch {
	case p.clusters > 1:
		return nil
	case p.Cluster == "":
		return fmt.Errorf("%s: there is one question, and an interval needs several", p.Path)
	}
	return fmt.Errorf("%s: all questions are in one cluster of %s, and an interval needs several clusters", p.Path, p.Cluster)
}

// clusterOf returns a question's cluster by the cluster tag, or else the question itself, whose
// repeats form a cluster.
func (p *Population) clusterOf(rec *result.Record) string {
	if cluster, ok := result.ClusterOf(p.Cluster, rec.Tags, rec.Shared()); ok {
		return cluster
	}
	return "\x00" + rec.ID
}

// findCluster sets the cluster tag: the result's, or else the one in its questions.
func (p *Population) findCluster(r *resultfile.Reader) error {
	if p.Cluster = p.Result.Settings.ClusterTag; p.Cluster != "" {
		return nil
	}
	var f result.ClusterFinder
	for rec, err := range r.Questions() {
		if err != nil {
			return err
		}
		if rec.Outcome.Counts() && rec.Repeat <= 1 {
			f.Add(rec.Tags, rec.Shared())
		}
	}
	p.Cluster = f.Tag()
	return nil
}

// merge joins small strata, so that each has enough of few labels.
func (p *Population) merge() {
	var group []int
	p.Strata, group = merge(p.Strata)
	for i := range p.Answers {
		p.Answers[i].stratum = group[p.Answers[i].stratum]
	}
}

// draw sorts the answers into drawing order.
func (p *Population) draw() {
	members := make([][]Answer, len(p.Strata))
	for _, a := range p.Answers {
		members[a.stratum] = append(members[a.stratum], a)
	}
	weights := make([]float64, len(members))
	for s, m := range members {
		slices.SortFunc(m, func(a, b Answer) int {
			return bytes.Compare(p.Design.rank(a.ID), p.Design.rank(b.ID))
		})
		weights[s] = float64(len(m)) * p.Design.weight(p.Strata[s].Name)
	}
	p.Answers = interleave(members, weights)
}

// rank returns a key for random ordering that depends only on the seed and the id, so that two
// results with the same questions draw the same answers.
func (d Design) rank(id string) []byte {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, d.Seed), id...))
	return sum[:]
}

// interleave takes members of the strata in turn: first one of each, then always from the stratum
// furthest below its share of the weights.
func interleave(members [][]Answer, weights []float64) []Answer {
	total, count := 0.0, 0
	for s, w := range weights {
		total += w
		count += len(members[s])
	}
	out := make([]Answer, 0, count)
	taken := make([]int, len(members))
	for len(out) < count {
		best, lack := -1, 0.0
		for s, w := range weights {
			if taken[s] == len(members[s]) {
				continue
			}
			missing := w/total*float64(len(out)+1) - float64(taken[s])
			if taken[s] == 0 {
				missing += float64(count)
			}
			if best < 0 || missing > lack {
				best, lack = s, missing
			}
		}
		out = append(out, members[best][taken[best]])
		taken[best]++
	}
	return out
}
