package jsonedit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/jsonedit"
)

func Example() {
	settings := `{
  // Mine.
  "servers": {
    "other": {"command": "other"}, // keep
  }
}`
	edited, err := jsonedit.Insert([]byte(settings), "servers", "memory", json.RawMessage(`{"command":"evalctl"}`))
	fmt.Println(string(edited), err)
	// Output:
	// {
	//   // Mine.
	//   "servers": {
	//     "other": {"command": "other"}, // keep
	//     "memory": {
	//       "command": "evalctl"
	//     }
	//   }
	// } <nil>
}

func TestInsert(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no file", "", "{\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}\n"},
		{"blanks", " \n", "{\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}\n"},
		{"a comment alone", "// mine\n", "// mine\n{\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}\n"},
		{"empty object", "{}", "{\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}"},
		{"other members", "{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"s\": {\n\t\t\"n\": [\n\t\t\t1\n\t\t]\n\t}\n}\n"},
		{"one line", `{"a":1}`, "{\"a\":1,\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}"},
		{"empty section", "{\n  \"s\": {}\n}", "{\n  \"s\": {\n    \"n\": [\n      1\n    ]\n  }\n}"},
		{"section before others", "{\n  \"s\": {\n    \"a\": {}\n  },\n  \"z\": 1\n}",
			"{\n  \"s\": {\n    \"a\": {},\n    \"n\": [\n      1\n    ]\n  },\n  \"z\": 1\n}"},
		{"comment behind the last", "{\n  \"s\": {\n    \"a\": 1 // \"}\"\n  }\n}",
			"{\n  \"s\": {\n    \"a\": 1, // \"}\"\n    \"n\": [\n      1\n    ]\n  }\n}"},
		{"trailing comma", "{\n  \"s\": {\n    \"a\": 1,\n  },\n}", "{\n  \"s\": {\n    \"a\": 1,\n    \"n\": [\n      1\n    ]\n  },\n}"},
		{"windows", "\ufeff{\r\n  \"s\": {\r\n  }\r\n}\r\n",
			"\ufeff{\r\n  \"s\": {\r\n    \"n\": [\r\n      1\r\n    ]\r\n  }\r\n}\r\n"},
		{"escaped key", `{"\u0073": {"a": "\"}//"}}`, "{\"\\u0073\": {\"a\": \"\\\"}//\",\n    \"n\": [\n      1\n    ]\n  }}"},
	} {
		got, err := jsonedit.Insert([]byte(c.text), "s", "n", json.RawMessage("[1]"))
		if string(got) != c.want || err != nil {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
			continue
		}
		if entry, err := jsonedit.Lookup(got, "s", "n"); len(entry) == 0 || err != nil {
			t.Errorf("%s: Lookup = %s, %v", c.name, entry, err)
		}
		if _, err := jsonedit.Insert(got, "s", "n", json.RawMessage("2")); !errors.Is(err, jsonedit.ErrExists) {
			t.Errorf("%s: second Insert: %v", c.name, err)
		}
	}
}

func TestReject(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
	}{
		{"[]", jsonedit.ErrShape},
		{`"text"`, jsonedit.ErrShape},
		{`{"s": []}`, jsonedit.ErrShape},
		{`{"s": null}`, jsonedit.ErrShape},
		{`{"s": {}, "s": {}}`, jsonedit.ErrShape},
		{`{"s": {"n": 1, "n": 2}}`, jsonedit.ErrShape},
		{"{", jsonedit.ErrSyntax},
		{"{,}", jsonedit.ErrSyntax},
		{`{"a":1,,}`, jsonedit.ErrSyntax},
		{`[,]`, jsonedit.ErrSyntax},
		{`{} {}`, jsonedit.ErrSyntax},
		{`{"a": 1 /* }`, jsonedit.ErrSyntax},
		{`{"a": 1 / 2}`, jsonedit.ErrSyntax},
		{`{"a": "}`, jsonedit.ErrSyntax},
		{`{"a": "\`, jsonedit.ErrSyntax},
		{strings.Repeat("[", 100_000), jsonedit.ErrSyntax},
	} {
		got, err := jsonedit.Insert([]byte(c.text), "s", "n", json.RawMessage("1"))
		if got != nil || !errors.Is(err, c.want) {
			t.Errorf("%.40q: %q, %v; want %v", c.text, got, err, c.want)
		}
	}
	_, err := jsonedit.Lookup([]byte("{\n\"a\": 1\n\"b\": 2}"), "s", "n")
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("position: %v", err)
	}
}

// TestInsertKeepsTheRest checks that the edited text has the same values, and that what was added
// is all that changed.
func TestInsertKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, genObject(t, 3))
	})
}

func FuzzInsert(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"s":{}}`, "{\"s\":{\"a\":1,}, // x\n}", "\ufeff{/**/}", `{"s":{"n":1}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

func check(t interface{ Fatalf(string, ...any) }, text string) {
	got, err := jsonedit.Insert([]byte(text), "s", "n", json.RawMessage(`{"x":[1]}`))
	if err != nil {
		return
	}
	if entry, err := jsonedit.Lookup(got, "s", "n"); err != nil || !same(entry, []byte(`{"x":[1]}`)) {
		t.Fatalf("%q\n%q: Lookup = %q, %v", text, got, entry, err)
	}
	// What was there is a subsequence of the result, save blanks at the end of a file without a value.
	rest := []byte(strings.TrimRight(text, " \t\r\n"))
	for i := 0; i < len(got) && len(rest) > 0; i++ {
		if got[i] == rest[0] {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Fatalf("%q\n%q: lost from %q", text, got, rest)
	}
	var before, after map[string]any
	if json.Unmarshal([]byte(text), &before) != nil || before == nil {
		return // comments
	}
	if err := json.Unmarshal(got, &after); err != nil {
		t.Fatalf("%q\n%q: %v", text, got, err)
	}
	section, _ := before["s"].(map[string]any)
	if section == nil {
		section = map[string]any{}
	}
	section["n"] = map[string]any{"x": []any{1.0}}
	before["s"] = section
	if !reflect.DeepEqual(before, after) {
		t.Fatalf("%q\n%q: values changed", text, got)
	}
}

func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// genObject returns an object with comments and trailing commas.
func genObject(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t", " // \"}{\n", "/* , */", "\r\n"})
	var b strings.Builder
	b.WriteString(space.Draw(t, "space") + "{")
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "s", "n2", "\\u0062", "\\\"{//"}), 0, 4, rapid.ID).Draw(t, "keys")
	for i, k := range keys {
		value := rapid.SampledFrom([]string{"1", `"}\""`, "[]", "[1,{}]", "null", "true"}).Draw(t, "value")
		if depth > 0 && (k == "s" || rapid.Bool().Draw(t, "nested")) {
			value = genObject(t, depth-1)
		}
		b.WriteString(space.Draw(t, "space") + `"` + k + `"` + space.Draw(t, "space") + ":" + value + space.Draw(t, "space"))
		if i < len(keys)-1 || rapid.Bool().Draw(t, "trailing") {
			b.WriteString(",")
		}
	}
	b.WriteString(space.Draw(t, "space") + "}" + space.Draw(t, "space"))
	return b.String()
}
