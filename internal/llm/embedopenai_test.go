package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/llm/llmtest"
)

func openEmbedStub(t *testing.T, reply func(llmtest.Call) llmtest.Reply) (*openAIEmbedder, *llmtest.Server) {
	t.Helper()
	srv := llmtest.NewServer(t, reply)
	e, err := newOpenAIEmbedder(endpointConfig{BaseURL: srv.URL, APIKey: secret}, "m", "")
	if err != nil {
		t.Fatal(err)
	}
	return e, srv
}

func wantVectors(texts []string) [][]float32 {
	var want [][]float32
	for _, text := range texts {
		want = append(want, llmtest.Vector(text))
	}
	return want
}

func TestEmbedRequestOnTheWire(t *testing.T) {
	e, srv := openEmbedStub(t, llmtest.Script(llmtest.Reply{}))
	texts := []string{"one", `two "quoted"`, strings.Repeat("é", maxModelText)}
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	texts[2] = strings.Repeat("é", maxModelText/2)
	if diff := cmp.Diff(wantVectors(texts), got); diff != "" {
		t.Error(diff)
	}
	call := srv.Calls()[0]
	want := fmt.Sprintf(`{"encoding_format":"float","input":["one","two \"quoted\"","%s"],"model":"m"}`, texts[2])
	if string(call.Body) != want || call.Path != "/v1/embeddings" || call.Header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("%s %s, headers %v, want body %s", call.Path, call.Body, call.Header, want)
	}
}

func TestEmbedNothing(t *testing.T) {
	e, srv := openEmbedStub(t, llmtest.Script())
	if got, err := e.Embed(t.Context(), nil); err != nil || len(got) != 0 || len(srv.Calls()) != 0 {
		t.Errorf("%v, %v, %d requests", got, err, len(srv.Calls()))
	}
}

// Batches respect their limits, are returned in order, and run two at a time.
func TestEmbedBatches(t *testing.T) {
	var under, most atomic.Int32
	meet := make(chan struct{})
	e, srv := openEmbedStub(t, func(llmtest.Call) llmtest.Reply {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		select { // two requests are released together, so they were concurrent
		case meet <- struct{}{}:
		case <-meet:
		}
		under.Add(-1)
		return llmtest.Reply{}
	})
	var texts []string
	for i := range 4 * maxEmbedTexts {
		texts = append(texts, fmt.Sprintf("text %d", i))
	}
	got, err := e.Embed(t.Context(), texts)
	if err != nil || !cmp.Equal(got, wantVectors(texts)) {
		t.Errorf("wrong vectors, %v", err)
	}
	if len(srv.Calls()) != 4 || most.Load() != embedsInFlight {
		t.Errorf("%d requests, at most %d at once", len(srv.Calls()), most.Load())
	}
}

func TestEmbedRepeats(t *testing.T) {
	e, srv := openEmbedStub(t, llmtest.Script(
		llmtest.Reply{Status: 429, RetryAfter: "0"}, llmtest.Reply{Status: 503, RetryAfter: "0"}, llmtest.Reply{Break: true}, llmtest.Reply{}))
	got, err := e.Embed(t.Context(), []string{"a"})
	if err != nil || !cmp.Equal(got, wantVectors([]string{"a"})) || len(srv.Calls()) != 4 {
		t.Errorf("%v, %v, %d requests", got, err, len(srv.Calls()))
	}
}

func TestEmbedErrors(t *testing.T) {
	vectors := func(v ...string) string { return `{"data":[` + strings.Join(v, ",") + `]}` }
	one := `{"index":0,"embedding":[1,2]}`
	for _, tt := range []struct {
		reply llmtest.Reply
		has   string
	}{
		{llmtest.Reply{Body: vectors(one)}, "1 vectors for 2 texts"},
		{llmtest.Reply{Body: vectors(one, one)}, "two vectors of index 0"},
		{llmtest.Reply{Body: vectors(one, `{"embedding":[1,2]}`)}, "two vectors of index 0"},
		{llmtest.Reply{Body: vectors(one, `{"index":2,"embedding":[1,2]}`)}, "index 2 for 2 texts"},
		{llmtest.Reply{Body: vectors(one, `{"index":-1,"embedding":[1,2]}`)}, "index -1"},
		{llmtest.Reply{Body: vectors(one, `{"index":1,"embedding":[1]}`)}, "of 2 and of 1 dimensions"},
		{llmtest.Reply{Body: vectors(`{"index":1,"embedding":[]}`, `{"index":0,"embedding":null}`)}, "is empty"},
		{llmtest.Reply{Body: vectors(one, `{"index":1,"embedding":[0,0]}`)}, "all zeros"},
		{llmtest.Reply{Body: vectors(one, `{"index":1,"embedding":[1,1e39]}`)}, "1e39"},
		{llmtest.Reply{Body: `<html>`}, "not the JSON"},
		{llmtest.Reply{Body: `{}`}, "0 vectors for 2 texts"},
		{llmtest.Reply{Status: 404, Body: `{"error":{"message":"no model ` + secret + `"}}`}, `no model [API key]; check the model name "m"`},
		{llmtest.Reply{Status: 401}, "check OPENAI_API_KEY"},
		{llmtest.Reply{Status: 402, Body: "bad"}, "402 Payment Required: bad"},
	} {
		e, srv := openEmbedStub(t, llmtest.Script(tt.reply))
		_, err := e.Embed(t.Context(), []string{"a", "b"})
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Model != "m" || !strings.Contains(err.Error(), tt.has) || !strings.Contains(err.Error(), srv.URL+"/embeddings") ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v, want %q", tt.reply, err, tt.has)
		}
		if n := len(srv.Calls()); n != 1 {
			t.Errorf("%+v: asked %d times", tt.reply, n)
		}
	}
}

func TestEmbedRefusesOtherDimensions(t *testing.T) {
	e, _ := openEmbedStub(t, llmtest.Script(llmtest.Reply{}, llmtest.Reply{Body: `{"data":[{"index":0,"embedding":[1,2]}]}`}))
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"b"}); err == nil || !strings.Contains(err.Error(), "2 dimensions, earlier ones 3") {
		t.Error(err)
	}
}

func TestEmbedStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, _ := openEmbedStub(t, func(llmtest.Call) llmtest.Reply {
		cancel()
		return llmtest.Reply{Hang: true}
	})
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A batch that fails ends the call with its own error. The vectors of the concurrent batch are
// returned, and no further batch is sent.
func TestEmbedKeepsTheBatchBesideAFailure(t *testing.T) {
	failed := make(chan struct{})
	e, _ := openEmbedStub(t, func(c llmtest.Call) llmtest.Reply {
		if c.Input[0] == "bad" {
			defer close(failed)
			return llmtest.Reply{Status: 403, Body: "broken"}
		}
		<-failed
		return llmtest.Reply{}
	})
	texts := manyTexts(maxEmbedTexts + 1)
	texts[maxEmbedTexts] = "bad"
	got, err := e.Embed(t.Context(), texts)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
	if len(got) != len(texts) || !cmp.Equal(got[:maxEmbedTexts], wantVectors(texts[:maxEmbedTexts])) || got[maxEmbedTexts] != nil {
		t.Error("the vectors of the other batch are missing")
	}
	e, srv := openEmbedStub(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 403} })
	if _, err := e.Embed(t.Context(), manyTexts(9*maxEmbedTexts)); err == nil || len(srv.Calls()) > embedsInFlight {
		t.Errorf("%v after %d requests", err, len(srv.Calls()))
	}
}

func TestEmbedderLimitsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := EmbedConfig{Provider: ProviderOpenAI, Model: "m", BaseURL: "http://box/v1", PerSecond: 1}
		e, err := OpenEmbedder(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := e.(*openAIEmbedder)
		if err := o.waitForLimit(ctx); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- o.waitForLimit(ctx) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("the second request did not wait: %v", err)
		default:
		}
		cancel()
		<-done
	})
}

func FuzzEmbedAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3,4.5]}]}`), 2)
	f.Add([]byte(`{"data":[{"index":0,"embedding":[0]},{"index":0,"embedding":null}]}`), 2)
	f.Add([]byte(`{"data":[{"index":-1,"embedding":[1e38]}]}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n <= 0 || n > 100 {
			return
		}
		var answer embeddings
		if json.Unmarshal(body, &answer) != nil {
			return
		}
		vectors := make([][]float32, n)
		if placeVectors(answer.Data, vectors) != nil {
			return
		}
		for i, v := range vectors {
			if len(v) == 0 || len(v) != len(vectors[0]) {
				t.Fatalf("vector %d has %d dimensions, vector 0 has %d", i, len(v), len(vectors[0]))
			}
			for _, a := range answer.Data {
				if int(a.Index) == i && !cmp.Equal(a.Embedding, v) {
					t.Fatalf("vector %d is not the one of its index", i)
				}
			}
		}
	})
}

// TestEmbeddingTokens: what the provider counts is added up, also of a response that cannot be
// used, and texts of responses without a readable count are counted.
func TestEmbeddingTokens(t *testing.T) {
	var n int
	const vector = `"id":1,"object":[],"model":2,"data":[{"object":3,"index":"0","embedding":[1,2,3]}],"usage":`
	e, _ := openEmbedStub(t, func(llmtest.Call) llmtest.Reply {
		n++
		switch n {
		case 1:
			return llmtest.Reply{Input: 7}
		case 2:
			return llmtest.Reply{Usage: `{"total_tokens":5}`}
		case 3:
			return llmtest.Reply{Body: `{"data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}`}
		case 5:
			return llmtest.Reply{Body: `{` + vector + `{"prompt_tokens":4.0,"total_tokens":"x"}}`}
		case 6:
			return llmtest.Reply{Body: `{` + vector + `"none"}`}
		case 7:
			return llmtest.Reply{Body: `{` + vector + `{"prompt_tokens":-1}}`}
		}
		return llmtest.Reply{}
	})
	c := NewEmbedCache(e)
	for _, texts := range [][]string{{"a", "b"}, {"c"}, {"d"}, {"e", "f", "a"}, {"g"}, {"h"}, {"i"}} {
		_, _ = c.Embed(t.Context(), texts)
	}
	if got, want := c.Stats(), (EmbedStats{Cached: 1, Embedded: 8, Tokens: 19, Uncounted: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEmbedCacheModel(t *testing.T) {
	for name, want := range map[string]string{
		"openai/text-embedding-3-small": "openai text-embedding-3-small", "ollama/a/b@http://box:11434/v1": "ollama a/b",
		"openai/@cf/baai/bge@https://x/v1": "openai @cf/baai/bge", "fake/hashed": "fake hashed",
	} {
		provider, model := NewEmbedCache(newCounting(name)).Model()
		if got := provider + " " + model; got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
