package mapping

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/target"
)

func quoted(tb testing.TB, text string) string {
	tb.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	if err := e.Encode(text); err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestBuiltin(t *testing.T) {
	for _, m := range Builtin() {
		if m.About == "" || m.Transport == MCP && len(m.Servers) == 0 || m.Name != specification && len(m.Packages) == 0 {
			t.Errorf("%s does not say what it is, for which servers and packages", m.Name)
		}
		if m.Brains == PerProcess && len(m.env) == 0 {
			t.Errorf("%s: all processes would use one store", m.Name)
		}
		for _, p := range m.Packages {
			if words := strings.Fields(p); len(words) != 3 || words[0] != "npm" && words[0] != "pypi" {
				t.Errorf("%s: a package is npm or pypi, a name and a version: %q", m.Name, p)
			}
		}
		data, err := m.Source()
		if err != nil || sum(data) != m.SHA256 {
			t.Errorf("%s: %v", m.Name, err)
		}
		if got, err := Load(m.Name); err != nil || got.SHA256 != m.SHA256 {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	for words, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-memory@2026.8.31": "server-memory", "/x/node_modules/.bin/mcp-server-memory": "server-memory",
		"npx mcp-memory-libsql": "mcp-memory-libsql", "npx @allpepper/memory-bank-mcp": "memory-bank-mcp", "npx other": "",
	} {
		got := ""
		if m := ForCommand(strings.Fields(words)); m != nil {
			got = m.Name
		}
		if got != want {
			t.Errorf("%s: %q", words, got)
		}
	}
	if _, err := Load("none"); err == nil || !strings.Contains(err.Error(), "no mapping is called") {
		t.Errorf("got %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	valid := "name: x\nremember: {tool: a, arguments: {t: '{text}'}}\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {text: $.t}}\n"
	parsed(t, valid)
	for _, c := range []struct{ text, want string }{
		{"", "m.yaml is empty"},
		{"- a\n", "m.yaml:1:1: the file must be an object"},
		{"name: x\n", "maps nothing"},
		{"name: [x]\n", "m.yaml:1:7: name must be a text"},
		{valid + "name: y\n", `m.yaml:4:1: "name" is set twice, first in line 1`},
		{valid + "nane: y\n", `m.yaml:4:1: unknown key "nane": did you mean "name"?`},
		{strings.Replace(valid, "name: x\n", "", 1), "m.yaml has no name"},
		{valid + "query: words\n", "m.yaml:4:8: query must be one of question, keywords"},
		{valid + "brains: argument\n", "needs {brain}"},
		{valid + "brains: reset\n", "needs the operation reset"},
		{strings.Replace(valid, "{text}", "{txet}", 1), "m.yaml:2:36: no placeholder is called {txet} here"},
		{strings.Replace(valid, "{query}", "x", 1), "m.yaml:3:9: search does not send {query}"},
		{strings.Replace(valid, "{text}", "x", 1), "m.yaml:2:11: remember sends neither {text}, {texts} nor {document}"},
		{strings.Replace(valid, "$.t", "t..", 1), "m.yaml:3:60: text is not a JSONPath"},
		{strings.Replace(valid, "reply: {text: $.t}", "reply: {}", 1), "m.yaml:3:9: the reply of search has no text"},
		{strings.Replace(valid, "tool: s, ", "", 1), "m.yaml:3:9: search has no tool"},
		{strings.Replace(valid, "tool: s", "tool: s, path: /x", 1), "m.yaml:3:9: search has a path"},
		{valid + "---\nname: y\n", "more than one document"},
		{"name: &a x\nabout: *a\n", "m.yaml:2:1: aliases"},
		{"name: x\ntransport: http\nsearch: {path: /s, body: {q: '{query}'}, reply: {text: $.t}, headers: {X-Api-Key: abc}}\n",
			"m.yaml:3:83: X-Api-Key has a secret"},
		{"name: x\ntransport: http\nsearch: {path: s, body: {q: '{query}'}, reply: {text: $.t}}\n", "must begin with /"},
		{valid + "delete: {tool: d, limit: x}\n", "m.yaml:4:26: limit must be a whole number"},
	} {
		if _, err := Parse("m.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestHostileValues checks that whatever values contain, they arrive as they are, and only where their
// placeholders are.
func TestHostileValues(t *testing.T) {
	m := parsed(t, `name: x
remember:
  tool: a
  arguments: {whole: "{text}", within: "<{text}|{title}>", list: ["{text}", "{date}"], brace: "{{text}} {{x}} { }", number: 3, none: "{date}"}
search: {tool: s, arguments: {q: "{query}"}, reply: {text: $.t}}
`)
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{title}`, `{{text}}`, `"},{"x":"`, "\n---\na: b", "{date}", "${HOME} $(id) `id`", "%s%d"}))
	rapid.Check(t, func(rt *rapid.T) {
		text, title := text.Draw(rt, "text"), text.Draw(rt, "title")
		got := m.remember.arguments.render(map[string]any{"text": text, "title": title})
		want := map[string]any{
			"whole": text, "within": "<" + text + "|" + title + ">", "list": []any{text}, "brace": "{text} {x} { }", "number": json.Number("3"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestJSONInReplies checks where JSON is found: in structured content, in a text, in several, and in
// structured content that repeats the text.
func TestJSONInReplies(t *testing.T) {
	r := parsed(t, "name: x\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {items: '$..hits[*]', text: $.t, id: $.i, score: $.s}}\n").search.reply
	const one, two = `{"hits":[{"t":"a","i":9007199254740993,"s":"0.5"}]}`, `{"hits":[{"t":"b","i":"x","s":2}]}`
	a, b := foundItem{id: "9007199254740993", numeric: true, text: "a", score: 0.5}, foundItem{id: "x", text: "b", score: 2}
	for name, c := range map[string]struct {
		reply callReply
		want  []foundItem
	}{
		"structured": {callReply{structured: []byte(one), texts: []string{"1 hit"}}, []foundItem{a}},
		"text":       {callReply{texts: []string{one}}, []foundItem{a}},
		"texts":      {callReply{texts: []string{one, two}}, []foundItem{a, b}},
		"repeated":   {callReply{structured: []byte(`{"result":` + quoted(t, one) + `}`), texts: []string{one}}, []foundItem{a}},
		"nothing":    {callReply{texts: []string{`{"hits":[]}`}}, nil},
	} {
		p, err := r.read(t.Context(), c.reply, "s")
		if diff := cmp.Diff(c.want, p.items, cmp.AllowUnexported(foundItem{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for name, reply := range map[string]callReply{"text": {texts: []string{"2 hits"}}, "more": {texts: []string{one + two}}, "none": {}} {
		if _, err := r.read(t.Context(), reply, "s"); err == nil || !strings.Contains(err.Error(), "the reply of s cannot be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeywords(t *testing.T) {
	for question, want := range map[string]string{
		"Where did Ada move?":                 "ada move",
		"What is it?":                         "what is it",
		"Who's Bob's dentist, and when? Bob!": "bob dentist",
		"Wohin ist Ada gezogen?":              "wohin ist ada gezogen",
		"":                                    "",
		"Straße 12 in 東京":                     "straße 12 東京",
		"a b c d e f g h aa bb cc dd ee ff gg hh ii jj kk ll mmm nnn": "aa bb cc dd ee ff gg hh ii jj mmm nnn",
	} {
		if got := strings.Join(Keywords(question), " "); got != want {
			t.Errorf("%s: %s", question, got)
		}
	}
}

func TestMerge(t *testing.T) {
	a, b, c := foundItem{id: "a", score: 1}, foundItem{id: "b", score: 2}, foundItem{id: "c"}
	got := merge([][]foundItem{{a, b, c}, {b}, {c, {id: "a", score: 9}, c}})
	var ids string
	for _, f := range got {
		ids += f.id
	}
	if ids != "bac" { // b is rarer than a and c, which come in this order
		t.Errorf("got %s", ids)
	}
	// Two keywords that find much count more than one that finds little.
	x, y := foundItem{id: "x"}, foundItem{id: "y"}
	if got := merge([][]foundItem{{a, b, c, x}, {y}, {b, c, x, {id: "d"}}}); got[3] != y || got[2] != x {
		t.Errorf("got %v", got)
	}
}

func TestCutText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aé東 .\n"))).Draw(rt, "text")
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		parts := cutText(text, limit)
		for _, p := range parts {
			if n := len([]rune(p)); n > limit || n == 0 && text != "" {
				rt.Fatalf("a part of %d characters: %q", n, p)
			}
		}
		if strings.Join(parts, "") != text {
			rt.Fatalf("%q became %q", text, parts)
		}
	})
}

func TestGrouped(t *testing.T) {
	c := target.Conversation{Path: "s.md", Turns: []target.Turn{
		{Role: "user", Name: "Ada", Text: "one"}, {Role: "assistant", Name: "Bob", Text: "two"}, {Role: "user", Name: "Ada", Text: "three"},
		{Role: "user", Name: "Ada", Text: " "},
	}}
	operation := func(arguments string) *operation {
		m := parsed(t, "name: x\nturns: {tool: a, texts: 2, arguments: "+arguments+"}\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {text: $.t}}\n")
		return m.turns
	}
	for _, x := range []struct {
		per       Grouping
		arguments string
		want      string
	}{
		{PerTurn, "{t: '{text}'}", "Ada: one;Bob: two;Ada: three"},
		{PerTurn, "{t: '{text}', who: '{speaker}'}", "one;two;three"},
		{PerSpeaker, "{t: '{texts}', who: '{speaker}'}", "one,three;two"},
		{PerSession, "{t: '{texts}'}", "Ada: one,Bob: two;Ada: three"},
	} {
		var calls []string
		for _, g := range grouped(c, x.per, operation(x.arguments)) {
			var texts []string
			for _, turn := range g.turns {
				texts = append(texts, turn["text"].(string))
			}
			calls = append(calls, strings.Join(texts, ","))
		}
		if got := strings.Join(calls, ";"); got != x.want {
			t.Errorf("%s %s: %s", x.per, x.arguments, got)
		}
	}
}

// TestTurnsOnlyGrouped has a mapping that says how turns are grouped, and remembers them as
// documents.
func TestTurnsOnlyGrouped(t *testing.T) {
	m := parsed(t, "name: x\nturns: {per: session}\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {text: $.t}}\n")
	if m.turns != nil || m.per != PerSession {
		t.Errorf("turns %+v, per %s", m.turns, m.per)
	}
}

// FuzzParse checks that a file is either rejected or usable.
func FuzzParse(f *testing.F) {
	for _, m := range Builtin() {
		data, err := m.Source()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(webMapping))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse("m.yaml", data)
		if err != nil {
			return
		}
		for _, o := range m.operations() {
			if _, err := json.Marshal(o.arguments.render(map[string]any{"text": "x", "query": "y", "texts": []string{"z"}})); err != nil {
				t.Errorf("%s: %v", o.name, err)
			}
			_, _ = o.reply.read(t.Context(), callReply{texts: []string{`{"a":[1,"x",null]}`, "- text"}}, "x")
			_, _ = o.reply.read(t.Context(), callReply{structured: []byte(`{"a":[1,"x",null]}`)}, "x")
		}
		m.Lacks(target.IDs)
	})
}
