package brain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// reportingEmbedder sends the texts that it embeds.
type reportingEmbedder struct {
	llm.FakeEmbedder
	texts chan string
	err   error
}

func (e *reportingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, t := range texts {
		select {
		case e.texts <- t:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.FakeEmbedder.Embed(ctx, texts)
}

// As soon as a brain has an index, new documents are embedded in the background, also after
// the embedder has failed. Closing does not wait for the embedder.
func TestDocumentsAreEmbeddedInTheBackground(t *testing.T) {
	for name, err := range map[string]error{"well": nil, "failing": errors.New("out of order")} {
		t.Run(name, inBubble(func(t *testing.T) {
			e := &reportingEmbedder{texts: make(chan string), err: err}
			s := open(t, func(c *Config) { c.Search = search.Config{Embedder: e} })
			create(t, s, "eval")
			put(t, s, "eval", "a.md", "walrus")
			x, err := use(t, s, "eval").indexer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.wait(t.Context(), t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-e.texts; got != "a\nwalrus" {
				t.Errorf("embedded %q", got)
			}
			time.Sleep(time.Minute) // a failing embedder is left alone for a while
			put(t, s, "eval", "b.md", "otter")
			for got := ""; got != "b\notter"; got = <-e.texts {
			}
			put(t, s, "eval", "c.md", "seal") // nothing receives it
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}))
	}
}

// inBubble runs a test on a clock that advances when every goroutine waits.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// stalled is an embedder that never answers.
type stalled struct{ llm.FakeEmbedder }

func (stalled) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A search that must not degrade reports that the embedder is slow.
func TestSlowEmbedderIsAnError(t *testing.T) {
	inBubble(func(t *testing.T) {
		s := open(t, func(c *Config) { c.Search = search.Config{Embedder: stalled{}} })
		defer s.Close()
		create(t, s, "eval")
		put(t, s, "eval", "a.md", "walrus")
		for range 2 {
			_, err := use(t, s, "eval").Search(t.Context(), query("walrus"))
			if !errors.Is(err, ErrSearchModel) || !errors.Is(err, ErrSearchSlow) {
				t.Errorf("got %v", err)
			}
		}
	})(t)
}

// Brains share the knowledge that a model does not answer: one search waits for the model,
// all others are answered at once.
func TestBrainsShareOutages(t *testing.T) {
	inBubble(func(t *testing.T) {
		s := open(t, func(c *Config) { c.Search = search.Config{Embedder: stalled{}, Degrade: true} })
		defer s.Close()
		start := time.Now()
		for i, id := range []string{"a", "b", "c"} {
			create(t, s, id)
			put(t, s, id, "a.md", "walrus")
			got, err := use(t, s, id).Search(t.Context(), query("walrus"))
			if err != nil || got.Mode != protocol.ModeBM25 || len(got.Hits) != 1 || !strings.Contains(got.Degraded, "no answer within 8s: 1 of 1 passages have no vector yet") {
				t.Errorf("got %+v, %v", got, err)
			}
			if took := time.Since(start); took != 8*time.Second {
				t.Errorf("%d searches took %v", i+1, took)
			}
		}
	})(t)
}

// Passages that the embedder refuses are counted and logged, once, and affect no search.
func TestRefusedPassagesAreCounted(t *testing.T) {
	stub := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		if slices.ContainsFunc(c.Input, func(s string) bool { return strings.Contains(s, "POISON") }) {
			return llmtest.Reply{Status: 400, Body: "no such text"}
		}
		return llmtest.Reply{}
	})
	e, err := llm.OpenEmbedder(llm.EmbedConfig{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: stub.URL})
	if err != nil {
		t.Fatal(err)
	}
	var log awaittest.Log
	s := open(t, func(c *Config) {
		c.Search = search.Config{Embedder: llm.NewEmbedCache(e)}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	create(t, s, "eval")
	for i := range 150 {
		put(t, s, "eval", fmt.Sprintf("%d.md", i), fmt.Sprint("seal ", i))
	}
	put(t, s, "eval", "bad.md", "POISON walrus")
	asked := 0
	for i, text := range []string{"walrus", "walrus beach", "a walrus"} {
		got, err := use(t, s, "eval").Search(t.Context(), query(text))
		if err != nil || got.Mode != protocol.ModeHybrid || got.Degraded != "" || got.Hits[0].Path != "bad.md" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if n := len(stub.Calls()); i > 0 && n != asked+1 { // the query
			t.Errorf("search %d sent %d requests", i, n-asked)
		}
		asked = len(stub.Calls())
	}
	if s.RefusedPassages() != 1 || strings.Count(log.String(), "bad.md#0") != 1 || !strings.Contains(log.String(), "no such text") {
		t.Errorf("%d refused, log: %s", s.RefusedPassages(), log.String())
	}
}
