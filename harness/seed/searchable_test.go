package seed

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestNeverSearchable checks the error for a daemon that accepts documents and does not find them.
func TestNeverSearchable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"id":"b","chunks":[{"path":"other.md"}]}`)
		})
		start := time.Now()
		_, err := seedOne(t.Context(), e, corpusOf("a.md"))
		took := time.Since(start)
		const want = "document a.md was written but is not found after 30.025s " +
			`(the best match of the last search has the path "other.md", and it must be the one that was written); ` +
			"does the daemon index raw/documents/?"
		if err == nil || err.Error() != want ||
			took < searchableWithin || took > searchableWithin+time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// TestSearchIsRepeated checks that a search without an answer, as while a model embeds documents,
// is sent again.
func TestSearchIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := time.Now().Add(31 * time.Second)
		e := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/search") {
				single(w, r, `{"id":"b"}`)
				return
			}
			select {
			case <-time.After(time.Until(ready)):
				_, _ = io.WriteString(w, `{"chunks":[{"path":"99.md"}]}`)
			case <-r.Context().Done():
			}
		})
		var docs []string
		for i := range 100 {
			docs = append(docs, fmt.Sprintf("%d.md", i))
		}
		_, err := seedOne(t.Context(), e, corpusOf(docs...))
		if err != nil || time.Now().Before(ready) {
			t.Errorf("after %v: %v", time.Since(ready), err)
		}
	})
}

// TestProgress checks that a daemon may take any time while it says that less is left to do, and
// not much longer once it no longer says so.
func TestProgress(t *testing.T) {
	const step = 20 * time.Second
	for _, c := range []struct {
		name string
		left func(since time.Duration) int
		took time.Duration // until it ends
		err  string
	}{
		{"slow", func(since time.Duration) int { return 100 - int(since/step) }, 100 * step, ""},
		{"stuck", func(since time.Duration) int { return max(100-int(since/step), 90) }, 10*step + searchableWithin,
			"the 90 passages that the daemon has to prepare first did not become fewer for 30s"},
		{"up and down", func(since time.Duration) int { return 2 + int(since/time.Second)%2 }, searchableWithin, "2 passages"},
		{"never less", func(time.Duration) int { return 7 }, searchableWithin, "7 passages"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var begin time.Time
			e := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/search") {
					single(w, r, `{"id":"b"}`)
					return
				}
				if begin.IsZero() {
					begin = time.Now()
				}
				left := c.left(time.Since(begin))
				if left == 0 {
					_, _ = io.WriteString(w, `{"chunks":[{"path":"a.md"}]}`)
					return
				}
				reply{status: 502, body: fmt.Sprintf(`{"title":"slow","pending":%d}`, left)}.write(w)
			})
			_, err := seedOne(t.Context(), e, corpusOf("a.md"))
			took := time.Since(begin)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			if took < c.took || took > c.took+10*time.Second {
				t.Errorf("%s: it took %v, want %v", c.name, took, c.took)
			}
		})
	}
}

// single answers every request with body, except batches, which it does not serve.
func single(w http.ResponseWriter, r *http.Request, body string) {
	if strings.HasSuffix(r.URL.Path, "/batch-ops") {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, body)
}

// TestDocumentsAreFoundByID checks that a chunk without a path is recognized by its document id.
func TestDocumentsAreFoundByID(t *testing.T) {
	o := &oneBrain{answers: map[string]func(http.ResponseWriter){
		"/search":    answer(200, `{"chunks":[{"documentId":"raw/documents/a.md"}]}`),
		"/v1/brains": answer(200, `{"brainId":"b"}`),
	}}
	e := endpointAt(t, daemontest.New(t, o.serve).URL, "")
	id, err := seedAs(t.Context(), e, "eval", result.Snake, corpusOf("a.md"))
	if err != nil || id != "b" {
		t.Errorf("got %q, %v", id, err)
	}
}

// TestDuplicatesAreFound checks that any document with the text that is searched for will do, even
// if it is reported as the duplicate of another, and that a document with another text will not.
func TestDuplicatesAreFound(t *testing.T) {
	for chunk, ok := range map[string]bool{
		`"path":"a.md"`:               true,
		`"path":"raw/documents/b.md"`: true,
		`"path":"other.md"`:           false,
		`"path":"other.md","duplicates":[{"chunk_id":"b.md#0","path":"raw/documents/b.md"}]`: true,
		`"path":"other.md","duplicates":["c.md#0"]`:                                          false,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				single(w, r, `{"id":"b","chunks":[{`+chunk+`}]}`)
			})
			c := corpusOf("a.md", "b.md", "other.md")
			for i, text := range []string{"one text", "one text", "one"} {
				c.Docs[i].Data = []byte(text)
			}
			if _, err := seedOne(t.Context(), e, c); (err == nil) != ok {
				t.Errorf("%s: got %v", chunk, err)
			}
		})
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
		{"case and punctuation do not matter", []string{"Word. (Other)", "word other, third"}, 1,
			"word other, third"},
		{"own word in the middle", []string{same + same, same + "seventeen " + same, same}, 1,
			"seventeen "},
		{"no word at all", []string{"--", "***"}, 1, "***"},
	} {
		var docs []dataset.Doc
		for i, text := range c.texts {
			docs = append(docs, dataset.Doc{Path: fmt.Sprint(i), Data: []byte(text)})
		}
		i, query := probeOf(docs)
		if i != c.index || !strings.Contains(query, c.query) {
			t.Errorf("%s: got %d and %q, want %d and %q", c.name, i, query, c.index, c.query)
		}
	}
}

func TestProbeWords(t *testing.T) {
	own := func(word []byte) bool { return string(word) == "own" }
	for _, c := range []struct{ text, want string }{
		{"# Title\n\nshort text\n", "# Title short text"},
		{strings.Repeat("x ", 50) + "end", strings.Repeat("x ", 39) + "end"},
		{"own " + strings.Repeat("x ", 50), "own " + strings.TrimSpace(strings.Repeat("x ", 39))},
		{strings.Repeat("ü", 3000), strings.Repeat("ü", 1000)},
		{"a\xffb", "a b"},
		{"", ""},
	} {
		if got := probeWords(dataset.Doc{Data: []byte(c.text)}, own); got != c.want {
			t.Errorf("%.20q: got %.60q, want %.60q", c.text, got, c.want)
		}
	}
}
