package target

import (
	"slices"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

func TestDialects(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		want  []result.Dialect
	}{
		"snake":          {`{"hits":[{"chunk_id":"a","text":"x"}],"took_ms":1}`, []result.Dialect{result.Snake}},
		"camel":          {`{"chunks":[{"chunkId":"a","text":"x"}]}`, []result.Dialect{result.Camel}},
		"trace":          {`{"chunks":[],"trace":{"effectiveMode":"bm25"}}`, []result.Dialect{result.Camel}},
		"both":           {`{"chunks":[{"chunkId":"a"}],"took_ms":1}`, []result.Dialect{result.Camel, result.Snake}},
		"single words":   {`{"chunks":[{"path":"a","text":"x"}]}`, nil},
		"text is no key": {`{"chunks":[{"text":"chunk_id chunkId"}]}`, nil},
	} {
		to := targetOf(t, writing(t, c.reply))
		to.Scenario = result.SearchOnly
		if _, err := to.Ask(t.Context(), dataset.Question{ID: "q", Question: "who?"}, time.Minute); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := to.Service.Dialects(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	streamed := targetOf(t, streaming(t, event("retrieve", `{"chunks":[{"chunkId":"a"}]}`)+event("done", `{"answer":"x"}`)))
	if _, err := streamed.Ask(t.Context(), dataset.Question{ID: "q", Question: "who?"}, time.Minute); err != nil {
		t.Error(err)
	}
	if got := streamed.Service.Dialects(); !slices.Equal(got, []result.Dialect{result.Camel}) {
		t.Errorf("streamed: got %v", got)
	}
}
