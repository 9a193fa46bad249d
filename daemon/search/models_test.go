package search

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
)

// errModel is the failure of a model in these tests.
var errModel = errors.New("the model is out")

// meanings is an embedder that knows a few words: words of one meaning are on one axis. All other
// words share another axis, with little weight.
type meanings struct {
	calls  atomic.Int64
	before func(ctx context.Context, call int64, texts []string) error // nil means no hook
}

var axes = map[string]int{"cat": 0, "kitten": 0, "dog": 1, "hound": 1, "sea": 2, "ocean": 2}

func (m *meanings) Name() string { return "test/meanings" }

// FusionWeight makes the sums of a fusion easy to follow.
func (m *meanings) FusionWeight() float64 { return 1 }

func (m *meanings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	call := m.calls.Add(1)
	if m.before != nil {
		if err := m.before(ctx, call, texts); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = meaning(text)
	}
	return vectors, nil
}

// meaning returns a vector that does not have unit length.
func meaning(text string) []float32 {
	v := make([]float32, 4)
	for _, word := range strings.Fields(text) {
		if axis, ok := axes[strings.Trim(word, ".,#")]; ok {
			v[axis]++
		} else {
			v[3] += 0.1
		}
	}
	return v
}

// replies is an embedder that always returns the same vectors.
type replies [][]float32

func (replies) Name() string { return "test/replies" }

func (r replies) Embed(context.Context, []string) ([][]float32, error) { return r, nil }

// byLength is a reranker that prefers short texts.
type byLength struct {
	saw []string
	err error
}

func (*byLength) Name() string { return "test/by-length" }

func (r *byLength) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	r.saw = texts
	scores := make([]float64, len(texts))
	for i, t := range texts {
		scores[i] = -float64(len(t))
	}
	return scores, r.err
}

// weak is an embedder whose ranking has little weight.
type weak struct{ *meanings }

func (weak) FusionWeight() float64 { return 1e-5 }
