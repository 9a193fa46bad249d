package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/replay/source"
)

var (
	// sessionNumber matches a retrieved session in LoCoMo's outputs.
	sessionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^S(\d{1,6})$`) })
	// turnNumber matches the suffix of a turn's id after its session's id.
	turnNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_\d{1,6}$`) })
)

// ranking resolves the retrieved documents of imported answers in a benchmark.
type ranking struct {
	benchmark *source.Benchmark
	haystack  source.Haystack // the last one that was read
	covered   result.Warning
}

// cover counts an answer for which as many documents count as its haystack has.
func (r *ranking) cover(of *result.Record) {
	if of.Retrieval != nil && of.Retrieval.Documents >= len(r.haystack.Sessions)+len(r.haystack.Docs) {
		r.covered.AddID(of.ID)
	}
}

// warnings says of how many answers recall cannot fail.
func (r *ranking) warnings(topK, answers int) []result.Warning {
	if r.covered.Count == 0 {
		return nil
	}
	return []result.Warning{result.CoversHaystacks(r.covered, topK, figure.Count(answers, "answer"))}
}

// chunks returns an answer's retrieved documents in order, resolved from ids in the file to
// documents of the question's haystack. Unknown ids are kept unchanged.
func (r *ranking) chunks(q source.Question, a *answer) ([]result.Chunk, error) {
	if r.benchmark != nil && r.haystack.ID != q.Haystack && len(a.retrieved) > 0 {
		h, err := r.benchmark.Haystack(q.Haystack)
		if err != nil {
			return nil, err
		}
		r.haystack = h
	}
	var out []result.Chunk
	for _, id := range a.retrieved {
		if strings.ContainsAny(strings.TrimSpace(id), " \n") {
			out = append(out, result.Chunk{Text: id})
			continue
		}
		c := result.Chunk{DocumentID: id}
		if paths := r.paths(id); len(paths) > 0 {
			c.Path = paths[0]
		}
		out = append(out, c)
	}
	return out, nil
}

// paths returns the documents for a session or turn id.
func (r *ranking) paths(id string) []string {
	if r.benchmark == nil {
		return nil
	}
	if m := sessionNumber().FindStringSubmatch(id); m != nil {
		return r.haystack.EvidencePaths(fmt.Sprintf("session_%s", m[1]))
	}
	if paths := r.haystack.EvidencePaths(id); len(paths) > 0 {
		return paths
	}
	return r.haystack.EvidencePaths(turnNumber().ReplaceAllString(id, ""))
}

// compare sets the retrieval of a record whose question has gold: by evidence if the files have
// the texts of passages, and by documents if they name these. What they do not have stays
// unknown.
func compare(r *result.Record, q source.Question, topK int) {
	asked := q.Dataset()
	if r.HasTexts() {
		r.ExpectedEvidence = asked.ExpectedEvidence
		r.CompareEvidence(topK)
	}
	named := slices.ContainsFunc(r.Retrieved, func(c result.Chunk) bool { return c.DocumentID != "" })
	if len(asked.ExpectedPaths) == 0 || !named {
		return
	}
	r.ExpectedPaths, r.ExpectedGrades = asked.ExpectedPaths, asked.ExpectedGrades
	gold := result.Gold(r.ExpectedPaths, r.ExpectedGrades)
	r.Retrieval = result.CompareWithGold(gold, r.Retrieved, topK, func(c result.Chunk) []string {
		return (*dataset.Paths)(nil).Documents(c, gold)
	})
}
