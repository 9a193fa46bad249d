package actor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// ranked returns a brain whose documents d1, d2 and so on are retrieved in this order, two chunks
// of each.
func ranked(documents int) brains {
	var chunks []result.Chunk
	for i := range 2 * documents {
		path := fmt.Sprintf("d%d", i/2+1)
		chunks = append(chunks, result.Chunk{Path: path, ChunkID: fmt.Sprint(i), Text: "text"})
	}
	return brains{"b": chunks}
}

func TestDeepRank(t *testing.T) {
	const absent = -1 // no probe
	for _, c := range []struct {
		name     string
		style    Style
		gold     string
		topK     int
		want     int
		searches int
	}{
		{"all retrieved", RetrieveOnly, "d1 d2", 4, absent, 1},
		{"further down", RetrieveOnly, "d1 d5", 4, 5, 2},
		{"first of two", RetrieveOnly, "d20 d7", 4, 7, 2},
		{"not found", RetrieveOnly, "d1 d51", 4, 0, 2},
		{"no gold", RetrieveOnly, "", 4, absent, 1},
		{"just as deep", RetrieveOnly, "d51", 100, 0, 1},
		{"own reader", Full, "d9", 4, 9, 1},
		{"own reader, all retrieved", Full, "d2", 4, absent, 0},
		{"own reader, deepest", Full, "d40", 50, 40, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := ranked(60)
			d := search(t, b)
			a := newActor(t, Config{Style: c.style, Target: targetOf(t, d.URL, b), TopK: c.topK, Documents: byPath})
			q := dataset.Question{ID: "q", Question: "x?", Brain: "b", ExpectedPaths: strings.Fields(c.gold),
				QuestionDate: "2025-01-01"}
			ans, err := a.Ask(t.Context(), q, questionTime)
			if err != nil {
				t.Fatal(err)
			}
			got := absent
			if ans.DeepRank != nil {
				got = *ans.DeepRank
			}
			searches := 0
			for _, call := range d.Calls() {
				if strings.HasSuffix(call.Path, "/search") {
					searches++
				}
				if call.Body["question_date"] != nil || call.Body["mode"] != "auto" {
					t.Errorf("sent %s", call.Raw)
				}
			}
			if got != c.want || searches != c.searches || len(ans.Retrieved) != c.topK {
				t.Errorf("rank %d after %d searches, %d chunks", got, searches, len(ans.Retrieved))
			}
		})
	}
}

// deepRequest reports whether a request is a probe.
func deepRequest(body map[string]any) bool { return body["top_k"] == float64(deepTopK) }

// TestFailedProbe checks that a probe which fails changes nothing else.
func TestFailedProbe(t *testing.T) {
	d := daemonThat(t, func(w http.ResponseWriter, _ *http.Request, body map[string]any) {
		if deepRequest(body) {
			http.Error(w, "too deep", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`{"chunks":[{"path":"d1","text":"tulips by the gate"}]}`))
	})
	a := newActor(t, Config{Style: RetrieveOnly, Target: targetOf(t, d.URL, garden), TopK: 1, Documents: byPath,
		Reader: llm.NewFake(), Model: llm.FakeModel})
	q := tulips
	q.ExpectedPaths = []string{"d2"}
	ans, err := a.Ask(t.Context(), q, questionTime)
	if err != nil || ans.DeepRank != nil || ans.Answer != "tulips by the gate" || ans.Attempts != 1 {
		t.Errorf("got %+v, %v", ans, err)
	}
}

// TestRunEndsInProbe checks that a question whose probe is interrupted is asked again later.
func TestRunEndsInProbe(t *testing.T) {
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	d := daemonThat(t, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		if deepRequest(body) {
			cancel(ended)
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"chunks":[]}`))
	})
	paid := recording{new(llm.Request)}
	a := newActor(t, Config{Style: RetrieveOnly, Target: targetOf(t, d.URL, garden), TopK: 1, Documents: byPath,
		Reader: paid, Model: "m"})
	q := tulips
	q.ExpectedPaths = []string{"d2"}
	if _, err := a.Ask(ctx, q, questionTime); !errors.Is(err, ended) || paid.last.Model != "" {
		t.Errorf("got %v", err)
	}
}

// TestSessionsOfChunks checks that chunks without a date and a title have those of their session.
func TestSessionsOfChunks(t *testing.T) {
	b := open(t, writeBenchmark(t, 3, 3, 3))
	h, err := b.Haystack(b.Questions[0].Haystack)
	if err != nil {
		t.Fatal(err)
	}
	s := h.Sessions[1]
	a := newActor(t, Config{Style: RetrieveOnly, Target: targetOf(t, "http://127.0.0.1:1", nil), TopK: 1,
		Benchmark: b, Documents: byPath})
	got, err := a.passages(b.Questions[0].Dataset(), []result.Chunk{
		{Path: s.Path, Text: "x"}, {Path: s.Path, Text: "y", Date: "2020-01-01"}, {Path: "other", Text: "z"},
	})
	if err != nil || len(got) != 3 || got[0] != (note{Date: s.Date, Title: s.Title, Text: "x"}) ||
		got[1] != (note{Date: "2020-01-01", Title: s.Title, Text: "y"}) || got[2] != (note{Text: "z"}) || s.Title == "" {
		t.Errorf("got %+v, %v", got, err)
	}
}
