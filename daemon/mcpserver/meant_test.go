package mcpserver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// form is a way in which clients send a value, and the value that it means: nothing if it means the
// same as no value, refused if it is an error.
type form struct{ sent, means string }

const (
	nothing = "left out"
	refused = "refused"
)

// formsOf returns the forms of an argument, made from each type that the schemas have.
func formsOf(t *testing.T, s *schema, required bool) []form {
	t.Helper()
	absent := nothing
	if required {
		absent = refused
	}
	all := []form{{`null`, absent}, {`true`, refused}, {`{}`, refused}}
	switch {
	case s.Type == "integer":
		return append(all, form{`5`, `5`}, form{`"5"`, `5`}, form{`" 5 "`, `5`}, form{`"5.0"`, `5.0`}, form{`5.0`, `5.0`}, form{`""`, absent},
			form{`"five"`, refused}, form{`"5.5"`, refused}, form{`"0x5"`, refused}, form{`"5 6"`, refused}, form{`"-5"`, refused},
			form{`"1e1"`, refused}, form{`[5]`, refused})
	case s.Type == "string" && s.Enum != nil:
		return append(all, form{`"` + s.Enum[0] + `"`, `"` + s.Enum[0] + `"`}, form{`""`, absent}, form{`" "`, absent},
			form{`"x"`, refused}, form{`5`, refused}, form{`[]`, refused})
	case s.Type == "string":
		value := `"a"`
		if s.Format == "uri" {
			value = `"https://example.com/"`
		}
		return append(all, form{value, value}, form{`5`, refused}, form{`[` + value + `]`, refused})
	case s.Items.Type == "string":
		return append(all, form{`["a","b"]`, `["a","b"]`}, form{`"[\"a\",\"b\"]"`, `["a","b"]`}, form{`"a b"`, `["a b"]`}, form{`[]`, `[]`},
			form{`"[]"`, `[]`}, form{`""`, absent}, form{`"a, b"`, refused}, form{`"[\"a\""`, refused}, form{`["a",5]`, refused},
			form{`["a",null]`, refused}, form{`"[5]"`, refused}, form{`5`, refused})
	case s.Items.Type == "object":
		line := `{"role":"user","content":"a"}`
		text, _ := json.Marshal(line)
		list, _ := json.Marshal("[" + line + "]")
		named := strings.Replace(line, "{", `{"name":"Ana",`, 1)
		return append(all[:2], form{`[` + line + `]`, `[` + line + `]`}, form{line, `[` + line + `]`}, form{string(text), `[` + line + `]`},
			form{string(list), `[` + line + `]`}, form{`[` + string(text) + `]`, `[` + line + `]`}, form{`[` + named + `]`, `[` + line + `]`},
			form{`""`, absent}, form{`"a"`, refused}, form{`["a"]`, refused}, form{`[null]`, refused}, form{`[]`, refused})
	}
	t.Fatalf("no forms of %+v", s)
	return nil
}

// leastOf returns values of the required arguments of a tool.
func leastOf(s *schema) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, name := range s.Required {
		value, _ := json.Marshal(casesOf(name, s.Properties[name]).good[0])
		all[name] = value
	}
	return all
}

func encoded(t *testing.T, args map[string]json.RawMessage) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestArgumentsAsSent gives every argument of every tool each form of its type.
func TestArgumentsAsSent(t *testing.T) {
	for tool, d := range definitions() {
		for name, property := range d.input.Properties {
			for _, f := range formsOf(t, property, slices.Contains(d.input.Required, name)) {
				args := leastOf(d.input)
				args[name] = json.RawMessage(f.sent)
				got, _, err := parseArguments(encoded(t, args), d.input)
				if f.means == refused {
					if err == nil {
						t.Errorf("%s: %s=%s means %v", tool, name, f.sent, got[name])
					}
					continue
				}
				if f.means == nothing {
					delete(args, name)
				} else {
					args[name] = json.RawMessage(f.means)
				}
				want, _, wantErr := parseArguments(encoded(t, args), d.input)
				if err != nil || wantErr != nil || !cmp.Equal(got, want) {
					t.Errorf("%s: %s=%s means %v, %v, want %v, %v", tool, name, f.sent, got, err, want, wantErr)
				}
			}
		}
	}
}

// TestKeysAsSent: a key in another spelling is the argument, unless that could be another one, and an
// unknown key is ignored and named.
func TestKeysAsSent(t *testing.T) {
	camel := func(name string) string {
		words := strings.Split(name, "_")
		for i := range words[1:] {
			words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
		}
		return strings.Join(words, "")
	}
	for tool, d := range definitions() {
		args := leastOf(d.input)
		want, _, err := parseArguments(encoded(t, args), d.input)
		if err != nil {
			t.Fatal(err)
		}
		args["random_string"] = json.RawMessage(`"x"`)
		got, ignored, err := parseArguments(encoded(t, args), d.input)
		if err != nil || !cmp.Equal(got, want) || !slices.Equal(ignored, []string{"random_string"}) {
			t.Errorf("%s: got %v, ignored %s, %v", tool, got, ignored, err)
		}
		if says := d.input.ignoring(ignored); !strings.Contains(says, `no argument "random_string": use `) {
			t.Errorf("%s: %s", tool, says)
		}
		for name, property := range d.input.Properties {
			args := leastOf(d.input)
			value, _ := json.Marshal(casesOf(name, property).good[0])
			args[name] = value
			want, _, err := parseArguments(encoded(t, args), d.input)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range []string{camel(name), strings.ToUpper(name), strings.ReplaceAll(name, "_", "-")} {
				spelled := maps.Clone(args)
				delete(spelled, name)
				spelled[other] = value
				got, ignored, err := parseArguments(encoded(t, spelled), d.input)
				if err != nil || len(ignored) > 0 || !cmp.Equal(got, want) {
					t.Errorf("%s: %s is %v, ignored %s, %v", tool, other, got, ignored, err)
				}
				if other == name {
					continue
				}
				spelled[name] = value
				if got, ignored, err := parseArguments(encoded(t, spelled), d.input); err != nil || len(ignored) != 1 || !cmp.Equal(got, want) {
					t.Errorf("%s: %s beside %s is %v, ignored %s, %v", tool, other, name, got, ignored, err)
				}
			}
		}
	}
	input := definitions()["memory_search"].input
	if got, ignored, err := parseArguments(json.RawMessage(`{"query":"x","topK":3,"top-k":5}`), input); err != nil || got.number("top_k") != 10 || len(ignored) != 2 {
		t.Errorf("two spellings: %v, ignored %s, %v", got, ignored, err)
	}
}

// TestObjectsAsSent: the arguments as a whole come as a text with their JSON, or as no object if
// there are none.
func TestObjectsAsSent(t *testing.T) {
	for tool, d := range definitions() {
		args := encoded(t, leastOf(d.input))
		want, _, _ := parseArguments(args, d.input)
		text, _ := json.Marshal(string(args))
		if got, _, err := parseArguments(text, d.input); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %s is %v, %v", tool, text, got, err)
		}
		for _, none := range []string{``, `null`, `{}`, `[]`, `""`, `"{}"`} {
			if got, _, err := parseArguments(json.RawMessage(none), d.input); (err != nil) != (len(d.input.Required) > 0) {
				t.Errorf("%s: %s is %v, %v", tool, none, got, err)
			}
		}
		for _, other := range []string{`5`, `true`, `"x"`, `[1]`, `"5"`, `"[]x"`} {
			if got, _, err := parseArguments(json.RawMessage(other), d.input); err == nil {
				t.Errorf("%s: %s is %v", tool, other, got)
			}
		}
	}
}

// TestArgumentsAreStrict: as over HTTP, what decoding would change without a word is refused. A
// value that is given twice in the same way means one thing.
func TestArgumentsAreStrict(t *testing.T) {
	for args, want := range map[string]string{
		`{"content":"c","path":"one.md","path":"two.md"}`:           "path is given twice, with different values",
		`{"content":"c","other":{"a":1,"a":[]}}`:                    "a is given twice, with different values",
		`"{\"content\":\"c\",\"path\":\"1.md\",\"path\":\"2.md\"}"`: "the arguments must be an object, not a string",
		`{"content":null}`:                                               "content must be a string, not null",
		`{"content":"c","path":"p\ud83d.md"}`:                            "path contains half of a surrogate pair",
		`{"content":"c","Path":"p\ude00.md"}`:                            "Path contains half of a surrogate pair",
		`{"content":"c\ud83d","path":"p\ud83d\ude00.md"}`:                "",
		`{"content":"c","path":"one.md","path":"one\u002emd","n":1}`:     "",
		`{"content":"c","path":"one.md"` + strings.Repeat(" ", 9) + `} `: "",
	} {
		_, _, err := parseArguments(json.RawMessage(args), definitions()["memory_remember"].input)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
