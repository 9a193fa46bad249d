package llm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/internal/llm/llmtest"
)

func manyTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	return texts
}

// refusesPoison responds with a status to every request that contains a poisoned text.
func refusesPoison(status int) func(llmtest.Call) llmtest.Reply {
	return func(c llmtest.Call) llmtest.Reply {
		if slices.ContainsFunc(c.Input, func(s string) bool { return strings.Contains(s, "POISON") }) {
			return llmtest.Reply{Status: status, Body: "no POISON"}
		}
		return llmtest.Reply{}
	}
}

// A rejected text is found, and every other text gets its vector.
func TestEmbedFindsWhatIsRefused(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		texts := manyTexts(151)
		texts[40] = "POISON"
		e, srv := openEmbedStub(t, refusesPoison(status))
		got, err := e.Embed(t.Context(), texts)
		refusal, ok := errors.AsType[*refusedError](err)
		if !ok || !slices.Equal(refusal.Refused(), []int{40}) {
			t.Fatalf("%d: %v", status, err)
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != status || !strings.Contains(err.Error(), "no POISON") {
			t.Errorf("%d: %v", status, err)
		}
		want := wantVectors(texts)
		want[40] = nil
		if !cmp.Equal(got, want) {
			t.Errorf("%d: wrong vectors", status)
		}
		// The two batches, the probe text, and both halves at each level.
		if n, most := len(srv.Calls()), 3+2*int(math.Log2(maxEmbedTexts)); n > most {
			t.Errorf("%d: %d requests, at most %d are needed", status, n, most)
		}
	}
}

// A status that is not about the texts ends the call, and so does a provider that rejects every
// request.
func TestEmbedRefusalsThatAreNotOfTexts(t *testing.T) {
	for _, status := range []int{401, 403, 404} {
		e, srv := openEmbedStub(t, refusesPoison(status))
		_, err := e.Embed(t.Context(), []string{"a", "POISON"})
		if _, refused := errors.AsType[*refusedError](err); err == nil || refused || len(srv.Calls()) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(srv.Calls()))
		}
	}
	e, srv := openEmbedStub(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 400, Body: "no account"} })
	_, err := e.Embed(t.Context(), manyTexts(100))
	if _, refused := errors.AsType[*refusedError](err); err == nil || refused || len(srv.Calls()) != 2 {
		t.Errorf("%v after %d requests", err, len(srv.Calls()))
	}
}

func TestEmbedFindsWhateverIsRefused(t *testing.T) {
	e, _ := openEmbedStub(t, refusesPoison(422))
	rapid.Check(t, func(rt *rapid.T) {
		poisoned := rapid.SliceOfN(rapid.Bool(), 1, 20).Draw(rt, "poisoned")
		texts := manyTexts(len(poisoned))
		want, places := wantVectors(texts), []int(nil)
		for i, p := range poisoned {
			if p {
				texts[i], want[i], places = "POISON", nil, append(places, i)
			}
		}
		got, err := e.Embed(t.Context(), texts)
		var found []int
		if refusal, ok := errors.AsType[*refusedError](err); ok {
			found = refusal.Refused()
		} else if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(found, places) || !cmp.Equal(got, want) {
			rt.Fatalf("refused %v, want %v", found, places)
		}
	})
}

// The cache stores the vectors that come with a rejection or a failure, and reports every index of
// a rejected text.
func TestEmbedCacheKeepsWhatIsBesideAnError(t *testing.T) {
	e, srv := openEmbedStub(t, refusesPoison(400))
	c := NewEmbedCache(e)
	texts := append(manyTexts(150), "POISON", "text 7", "POISON")
	for range 2 {
		got, err := c.Embed(t.Context(), texts)
		refusal, ok := errors.AsType[*refusedError](err)
		if !ok || !slices.Equal(refusal.Refused(), []int{150, 152}) {
			t.Fatal(err)
		}
		want := wantVectors(texts)
		want[150], want[152] = nil, nil
		if !cmp.Equal(got, want) {
			t.Error("wrong vectors")
		}
	}
	seen := map[string]int{}
	for _, call := range srv.Calls() {
		if !slices.Contains(call.Input, "POISON") {
			for _, text := range call.Input {
				seen[text]++
			}
		}
	}
	for _, text := range texts[:150] {
		if seen[text] != 1 {
			t.Errorf("%s was embedded %d times", text, seen[text])
		}
	}

	broken, srv := openEmbedStub(t, func(c llmtest.Call) llmtest.Reply {
		if slices.Contains(c.Input, "text 200") {
			return llmtest.Reply{Status: 500}
		}
		return llmtest.Reply{}
	})
	c = NewEmbedCache(broken)
	if _, err := c.Embed(t.Context(), manyTexts(201)); err == nil {
		t.Fatal("no error")
	}
	requests := len(srv.Calls())
	embed(t, c, manyTexts(128)...)
	if n := len(srv.Calls()) - requests; n != 0 {
		t.Errorf("the first batch was not kept: %d more requests", n)
	}
}
