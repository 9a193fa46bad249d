package redact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestSpellings: a secret is found however a text has it, also within a text in base64.
func TestSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9/+"<&% é_-]{8,40}`).Draw(t, "value")
		before := rapid.StringMatching(`[a-z ]{0,7}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z ]{0,7}`).Draw(t, "after")
		r := New(Secret{"KEY", value})
		quoted, _ := json.Marshal(value)
		for how, text := range map[string]string{
			"literal": value, "JSON": string(quoted), "query": url.QueryEscape(value), "path": url.PathEscape(value),
			"quoted": fmt.Sprintf("%q", value), "slashes": strings.ReplaceAll(value, "/", `\/`),
		} {
			if got := r.Text(before + text + after); !strings.Contains(got, "[KEY]") {
				t.Errorf("%s: %q has %q", how, got, value)
			}
		}
		for how, e := range map[string]*base64.Encoding{
			"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
		} {
			text := e.EncodeToString([]byte(before + value + after))
			got := r.Text(text)
			if _, rest, found := strings.Cut(got, "[KEY]"); !found || len(rest)+len(before) > len(text) {
				t.Errorf("base64 %s: %q of %q has %q", how, got, text, value)
			}
		}
	})
}

// TestLonger: where two secrets begin at the same position, nothing of the longer one is left,
// wherever reads split it.
func TestLonger(t *testing.T) {
	r := New(Secret{"A", "secret-1"}, Secret{"B", "secret-1-and-more"}, Secret{"C", "1-and-again"})
	for text, want := range map[string]string{
		"x secret-1-and-more y": "x [B] y", "secret-1-and-m": "[A]-and-m", "secret-1": "[A]", "secret-1-and-again": "[A]-and-again",
		"secret-secret-1": "secret-[A]", "1-and-again": "[C]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		got, err := io.ReadAll(r.Reader(iotest.OneByteReader(strings.NewReader(text))))
		if err != nil || string(got) != want {
			t.Errorf("%q: read %q, want %q", text, got, want)
		}
	}
}

func TestError(t *testing.T) {
	r := New(Secret{"KEY", "sk-12345"})
	base := errors.New("no sk-12345 here")
	if err := r.Error(base); err.Error() != "no [KEY] here" || !errors.Is(err, base) {
		t.Error(err)
	}
	if err := r.Error(io.EOF); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if r.Error(nil) != nil || !errors.Is(New().Error(base), base) {
		t.Error("changed")
	}
}

// TestValues: every string of a value is cleaned, and what is shared with others stays as it is.
func TestValues(t *testing.T) {
	type name string
	type inner struct {
		Name  name
		hides string
	}
	type value struct {
		Text    string
		Raw     json.RawMessage
		List    []string
		Pointer *inner
		Any     any
		By      map[string]map[string]inner
		Array   [2]inner
		None    *inner
		Number  int
	}
	const secret = "sk-12345"
	r := New(Secret{"KEY", secret})
	make := func(text string) value {
		return value{
			text, json.RawMessage(`"` + text + `"`), []string{"a", text}, &inner{name(text), "x"}, []any{text, 1},
			map[string]map[string]inner{text: {"a": {name(text), "y"}}}, [2]inner{{"a", ""}, {name(text), ""}}, nil, 7,
		}
	}
	v := make(secret)
	show := func(v value) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got, want := show(Values(r, v)), show(make("[KEY]")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := show(v); got != show(make(secret)) {
		t.Errorf("changed to %s", got)
	}
	if got := Values(r, v).Pointer.hides; got != "x" {
		t.Errorf("lost %q", got)
	}
	if clean := make("fine"); &Values(r, clean).List[0] != &clean.List[0] {
		t.Error("copied without need")
	}
	for in, want := range map[string]string{
		`{"a":["\u0073k-12345"],"n":1e400}`: `{"a":["[KEY]"],"n":1e400}`, `"\u0073k-1234"`: `"\u0073k-1234"`, `"sk-12345\n"`: `"[KEY]\n"`,
		`{"\u0073k-12345":1}`: `{"[KEY]":1}`, `broken \ sk-12345`: `broken \ [KEY]`,
	} {
		if got := Values(r, json.RawMessage(in)); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := Values[any](r, secret); got != "[KEY]" {
		t.Errorf("got %v", got)
	}
}
