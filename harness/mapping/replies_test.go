package mapping

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// openWeb opens a service over HTTP.
func openWeb(t *testing.T, mapping string, answer http.HandlerFunc) *Service {
	t.Helper()
	web := httptest.NewServer(answer)
	t.Cleanup(web.Close)
	s, err := Open(t.Context(), Config{Mapping: parsed(t, mapping), URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestReplyInOtherEncoding checks that characters of a reply are not replaced without a word: a
// text with others would count as missed.
func TestReplyInOtherEncoding(t *testing.T) {
	for _, reply := range []string{"{items: '$[*]', text: $}", "{format: text, pattern: '(?P<text>caf.*)'}"} {
		s := openWeb(t, "name: x\ntransport: http\nsearch: {path: /find, body: {q: '{query}'}, reply: "+reply+"}\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=iso-8859-1")
			_, _ = w.Write([]byte("[\"caf\xe9\"]"))
		})
		_, err := s.Store("").Search(t.Context(), "b", "coffee", 3)
		f, ok := target.AsFailure(err)
		if !ok || f.Kind != result.KindProtocol || f.Retryable() || !strings.Contains(f.Message, `not in UTF-8; its Content-Type is "application/json; charset=iso-8859-1"`) {
			t.Errorf("%s: got %v", reply, err)
		}
	}
}

// TestNumbersStayNumbers has a service whose ids and cursors are numbers, beyond those of float64,
// and checks that they are sent so as JSON values, and as digits elsewhere. They also survive notes.
func TestNumbersStayNumbers(t *testing.T) {
	const mapping = `name: x
transport: http
brains: argument
create: {path: /brains, body: {n: '{brain}'}, reply: {id: $.id}}
remember: {path: '/{brain}/notes', body: {t: '{text}'}, reply: {id: $.id}}
search: {path: /find, query: {c: '{cursor}'}, body: {q: '{query}', b: '{brain}', c: '{cursor}'}, reply: {items: '$.r[*]', text: $, next: $.next}}
update: {method: PUT, path: '/notes/{id}', body: {key: '{id}', label: '{name}', note: 'x{id}', t: '{text}'}}
delete: {path: /forget, body: {keys: ['{id}']}}
`
	const big = "9007199254740993"
	var asked []string
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.RequestURI()+" "+string(body))
		switch {
		case r.URL.Path == "/brains":
			fmt.Fprint(w, `{"id":7}`)
		case r.URL.Path != "/find":
			fmt.Fprint(w, `{"id":`+big+`}`)
		case r.URL.RawQuery == "":
			fmt.Fprint(w, `{"r":["a"],"next":[`+big+`,"a"]}`)
		default:
			fmt.Fprint(w, `{"r":["b"],"next":null}`)
		}
	}
	s := openWeb(t, mapping, answer)
	st := create(t, s, "b").(*store)
	doc := dataset.Doc{Path: "a.md", Data: []byte("one")}
	if err := st.Write(t.Context(), "b", []dataset.Doc{doc}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Search(t.Context(), "b", "q", 5); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), "b", dataset.Operation{Op: dataset.OpPut, Path: "a.md", Text: "two"}); err != nil {
		t.Fatal(err)
	}
	notes, err := st.Notes("b")
	if err != nil {
		t.Fatal(err)
	}
	again := openWeb(t, mapping, answer).Store("").(*store)
	if err := again.UseNotes("b", notes); err != nil {
		t.Fatal(err)
	}
	if err := again.Remove(t.Context(), "b", "b"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`/brains {"n":"b"}`, `/7/notes {"t":"one"}`, `/find {"b":7,"q":"q"}`, `/find?c=%5B` + big + `%2C%22a%22%5D {"b":7,"c":[` + big + `,"a"],"q":"q"}`,
		`/notes/` + big + ` {"key":` + big + `,"label":"` + big + `","note":"x` + big + `","t":"two\n"}`, `/forget {"keys":[` + big + `]}`,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// TestByteOrderMark checks that a mark before the JSON is ignored.
func TestByteOrderMark(t *testing.T) {
	s := openWeb(t, "name: x\ntransport: http\nsearch: {path: /find, body: {q: '{query}'}, reply: {items: '$[*]', text: $}}\n", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "\ufeff[\"a\"]")
	})
	if got, err := s.Store("").Search(t.Context(), "b", "q", 3); err != nil || len(got) != 1 || got[0].Text != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestRedirect checks that the failure names the URL to give instead, without its secrets.
func TestRedirect(t *testing.T) {
	s := openWeb(t, "name: x\ntransport: http\nsearch: {path: /find, body: {q: '{query}'}, reply: {text: $}}\n", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://user:s3cret@example.org/v2/find", http.StatusTemporaryRedirect)
	})
	_, err := s.Store("").Search(t.Context(), "b", "q", 3)
	if f, ok := target.AsFailure(err); !ok || f.Status != http.StatusTemporaryRedirect || strings.Contains(f.Message, "s3cret") ||
		!strings.Contains(f.Message, "example.org/v2/find: redirects are not followed; give the final URL") {
		t.Errorf("got %v", err)
	}
}
