package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestSeedGivesUp on a daemon that takes documents and never finds them.
func TestSeedGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &inMemory{reply: func(int) *http.Response { return reply(200, `{"id":"b","chunks":[{"path":"other.md"}]}`) }}
		start := time.Now()
		_, err := seedOne(t.Context(), m.target().Endpoint, "eval", result.Auto, corpusOf("a.md"))
		took := time.Since(start)
		want := "document a.md was written but is not found after 30.025s (the last search gave 1 chunks); does the daemon index raw/documents/?"
		if err == nil || err.Error() != want || took < searchableWithin || took > searchableWithin+time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// TestSeedWaitsForModels: a search that gets no answer while documents are
// embedded is asked again.
func TestSeedWaitsForModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := time.Now().Add(31 * time.Second)
		e := &Endpoint{base: "http://memory", http: &http.Client{Transport: embedding{ready}}}
		var docs []string
		for i := range 100 {
			docs = append(docs, fmt.Sprintf("%d.md", i))
		}
		_, err := seedOne(t.Context(), e, "eval", result.Auto, corpusOf(docs...))
		if err != nil || time.Now().Before(ready) {
			t.Errorf("after %v: %v", time.Since(ready), err)
		}
	})
}

// embedding keeps searches waiting until it is ready, and then finds everything.
type embedding struct{ ready time.Time }

func (e embedding) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/search") {
		return always(`{"id":"b"}`).RoundTrip(r)
	}
	select {
	case <-time.After(time.Until(e.ready)):
		return reply(200, `{"chunks":[{"path":"99.md"}]}`), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestProbeOf(t *testing.T) {
	same := strings.Repeat("the same words in all of them ", 20)
	for _, c := range []struct {
		name  string
		texts []string
		index int
		query string
	}{
		{"own words", []string{"alpha beta gamma", "alpha beta", "gamma delta"}, 2, "gamma delta"},
		{"stop words only", []string{"The cat sat.", "the the a", "of the a"}, 0, "The cat sat."},
		{"most different words", []string{"a b", "a b c", "c c c c"}, 1, "a b c"},
		{"ties", []string{"a one", "a two"}, 1, "a two"},
		{"all the same", []string{"a a", "a a", "a a"}, 2, "a a"},
		{"case and punctuation are nobody's own", []string{"Word. (Other)", "word other, third"}, 1, "word other, third"},
		{"own word in the middle", []string{same + same, same + "seventeen " + same, same}, 1, "seventeen "},
		{"no word at all", []string{"--", "***"}, 1, "***"},
	} {
		var docs []dataset.Doc
		for i, text := range c.texts {
			docs = append(docs, dataset.Doc{Path: fmt.Sprint(i), Data: []byte(text)})
		}
		if i, query := probeOf(docs); i != c.index || !strings.Contains(query, c.query) {
			t.Errorf("%s: got %d and %q, want %d and %q", c.name, i, query, c.index, c.query)
		}
	}
}

// always gives each request the same answer, several at a time. It serves no
// batches.
type always string

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/batch-ops") {
		return reply(404, ""), nil
	}
	return reply(200, string(a)), nil
}

// TestSeedAcceptsATwin: of documents with the same text any shows that they can
// be found, also one that stands behind another, and one with another text does not.
func TestSeedAcceptsATwin(t *testing.T) {
	for chunk, ok := range map[string]bool{
		`"path":"a.md"`: true, `"path":"raw/documents/b.md"`: true, `"path":"other.md"`: false,
		`"path":"other.md","duplicates":[{"chunk_id":"b.md#0","path":"raw/documents/b.md"}]`: true,
		`"path":"other.md","duplicates":["c.md#0"]`:                                          false,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &Endpoint{base: "http://memory", http: &http.Client{Transport: always(`{"id":"b","chunks":[{` + chunk + `}]}`)}}
			c := corpusOf("a.md", "b.md", "other.md")
			c.Docs[0].Data, c.Docs[1].Data, c.Docs[2].Data = []byte("one text"), []byte("one text"), []byte("one")
			if _, err := seedOne(t.Context(), e, "eval", result.Auto, c); (err == nil) != ok {
				t.Errorf("%s: got %v", chunk, err)
			}
		})
	}
}

func TestProbeWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# Title\n\nshort text\n", "# Title short text"},
		{strings.Repeat("x ", 50) + "end", strings.Repeat("x ", 39) + "end"},
		{"own " + strings.Repeat("x ", 50), "own " + strings.TrimSpace(strings.Repeat("x ", 39))},
		{strings.Repeat("ü", 3000), strings.Repeat("ü", 1000)},
		{"a\xffb", "a b"},
		{"", ""},
	} {
		if got := probeWords(dataset.Doc{Data: []byte(c.text)}, func(w []byte) bool { return string(w) == "own" }); got != c.want {
			t.Errorf("%.20q: got %.60q, want %.60q", c.text, got, c.want)
		}
	}
}
