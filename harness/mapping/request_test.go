package mapping

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLiterals checks that dates, numbers, lists and null arrive as they are written in a
// mapping.
func TestLiterals(t *testing.T) {
	m := parsed(t, `name: x
transport: http
remember:
  path: /add
  query: {ids: "{ids}", all: [x, "{ids}"]}
  body: {api: 2024-07-01, at: 2024-07-01T09:00:00Z, v: 1.0, big: 123456789012345678901, hex: 0x10, none: null, t: "{texts}"}
search:
  method: GET
  path: /s
  query: {q: "{query}", api-version: 2024-07-01, tags: [a, "{brain}", 1.0, null, "{mode}"], none: null, v: 1.0, all: true, big: 1000000.0, empty: []}
  reply: {text: $.t}
`)
	w := &web{base: "http://h"}
	req, err := w.request(t.Context(), m.search, map[string]any{"query": "R&D, C++", "brain": "b"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "all=true&api-version=2024-07-01&big=1000000.0&q=R%26D%2C+C%2B%2B&tags=a&tags=b&tags=1.0&v=1.0"
	if diff := cmp.Diff(want, req.URL.RawQuery); diff != "" {
		t.Error(diff)
	}
	texts := call{texts: []text{{id: "1", values: map[string]any{"text": "one"}}, {id: "2", values: map[string]any{"text": "two"}}}}
	if req, err = w.request(t.Context(), m.remember, texts.render(m.remember, "b")); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	const sent = `{"api":"2024-07-01","at":"2024-07-01T09:00:00Z","big":123456789012345678901,"hex":16,"none":null,"t":["one","two"],"v":1.0}`
	if diff := cmp.Diff(sent, string(body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("all=x&all=1&all=2&ids=1&ids=2", req.URL.RawQuery); diff != "" {
		t.Error(diff)
	}
}

// TestUnsendable checks that what cannot be sent is refused when a mapping is read.
func TestUnsendable(t *testing.T) {
	const start = "name: x\ntransport: http\nremember: {path: /add, "
	const end = "}\nsearch: {path: /s, body: {q: '{query}'}, reply: {text: $.t}}\n"
	for lines, want := range map[string]string{
		"query: {q: {a: b}}, body: {t: '{text}'}":                            "m.yaml:3:35: an object has no form in a URL",
		"query: {q: [[a]]}, body: {t: '{text}'}":                             "m.yaml:3:36: a list within a list has no form in a URL",
		"query: q, body: {t: '{text}'}":                                      "m.yaml:3:31: query must be an object",
		"query: {q: '{items}'}, item: {t: '{text}'}, body: {}":               "m.yaml:3:35: no placeholder is called {items} here",
		"body: {n: .inf, t: '{text}'}":                                       "m.yaml:3:34: JSON has no number .inf",
		"body: {t: 'Texts: {texts}'}":                                        "m.yaml:3:34: {texts} is a list",
		"headers: {X-IDs: '{ids}'}, body: {t: '{texts}'}":                    "no placeholder is called {ids} here",
		"body: {t: '{text}'}}\nget: {path: '/{ids}'":                         "no placeholder is called {ids} here",
		"body: {t: '{text}'}}\nget: {method: GET, path: '/s?q={id}'":         "m.yaml:4:26: the path of get has a ?",
		"body: {t: '{text}'}}\nget: {method: GET, path: '/s/{id}#top'":       "m.yaml:4:26: the path of get has a #",
		"body: {t: '{text}'}}\nhealth: {method: GET, path: '/s', query: [a]": "m.yaml:4:42: query must be an object",
	} {
		if _, err := Parse("m.yaml", []byte(start+lines+end)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", lines, err, want)
		}
	}
}
