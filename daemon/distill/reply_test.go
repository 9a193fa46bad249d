package distill

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// FuzzReply: whatever a model replies, what is accepted is within its limits, and is JSON.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"facts":[{"text":"a","date":"2024-05-07","message":1}]}`, `{"facts":[{"text":"\u2028","message":1}]}`,
		`{"outcome":"a","should_record_episode":true,"title":"t","episode":"# e\n---\n` + "```" + `"}`,
		`{"summaries":[{"title":"t","text":"x","from":[1,2]}]}`, `{"summaries":[{"title":"t","text":"x","from":[]}]}`,
		`{"outcome":"a","should_record_episode":false,"title":7}`, `{"facts":[{"text":"\ud800","message":1e0}]}`,
	} {
		f.Add(s)
	}
	w := window{Messages: []piece{{ID: 1, Role: RoleUser}, {ID: 2, Role: RoleTool}}}
	in := notesInput{Notes: []noteInput{{ID: 1}, {ID: 2}}}
	line := func(t *testing.T, s string, most int) {
		if n := utf8.RuneCountInString(s); n == 0 || n > most || oneLine(s) != s {
			t.Fatalf("%q is not one line of 1 to %d characters", s, most)
		}
	}
	text := func(t *testing.T, s string, most int) {
		if n := utf8.RuneCountInString(s); n == 0 || n > most || flatten(s) != s || !utf8.ValidString(s) {
			t.Fatalf("%q is not prose of 1 to %d characters: %q", s, most, flatten(s))
		}
	}
	f.Fuzz(func(t *testing.T, reply string) {
		if facts, err := parseFacts(reply, w); err == nil {
			for _, x := range facts {
				line(t, x.Text, MaxFact)
				if x.Message != 1 {
					t.Fatalf("message %d", x.Message)
				}
			}
		}
		r, err := parseReflection(reply)
		if err == nil {
			line(t, r.Outcome, maxOutcome)
			if r.RecordEpisode {
				line(t, r.Title, MaxTitle)
				text(t, r.Episode, maxEpisode)
			} else if r.Title+r.Episode != "" {
				t.Fatalf("%+v", r)
			}
		}
		summaries, sumErr := parseSummaries(reply, in)
		for _, s := range summaries {
			line(t, s.Title, MaxTitle)
			text(t, s.Text, maxSummary)
			if len(s.From) == 0 || len(s.From) > 2 {
				t.Fatalf("from %v", s.From)
			}
		}
		if (err == nil || sumErr == nil) && !json.Valid([]byte(reply)) {
			t.Fatalf("accepted %q", reply)
		}
	})
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"# A\n\n\n## B ##\ntext":           "A\n\nB ##\ntext",
		"A\n===\nB\n---\nC":                "A\n\nB\n\nC",
		"---\ntitle: x\n---\ny":            "title: x\n\ny",
		"```go\ncode\n```\nafter":          "go\ncode\n\nafter",
		"- a\n  - b\n        deep\n1. c":   "- a\n  - b\n   deep\n1. c",
		"> # quoted\n>> more":              "quoted\nmore",
		"a\r\nb\rc\u2028d\x00e\tf":         "a\nb\nc\nd e f",
		" \n\t\n":                          "",
		"###":                              "",
		"C# is #1":                         "C# is #1",
		"* * *\n- - -\n***bold***\n-5 °C":  "\n***bold***\n-5 °C",
		"~~~\n=\n- # x\n- ```\n- not code": "- # x\n- ```\n- not code",
	} {
		if got := flatten(in); got != strings.TrimLeft(want, "\n") {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestCut: nothing but white space is lost, no character is divided, and every part is of the size.
func TestCut(t *testing.T) {
	unit := rapid.SampledFrom([]string{"a", "é", "日", "🙂", " ", "\n", ". ", "word ", "Sentence. "})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.TrimSpace(strings.Join(rapid.SliceOfN(unit, 1, 200).Draw(rt, "text"), ""))
		most := rapid.IntRange(8, 100).Draw(rt, "most")
		rest, all := text, ""
		for rest != "" {
			var first string
			first, rest = cut(rest, most)
			if len(first) == 0 || len(first) > most || !utf8.ValidString(first) {
				rt.Fatalf("part %q", first)
			}
			all += first
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(all) != squeeze(text) {
			rt.Fatalf("%q became %q", text, all)
		}
	})
	if first, rest := cut("It is late. It is getting later", 28); first != "It is late. It is getting" || rest != "later" {
		t.Errorf("got %q, %q", first, rest)
	}
	if first, _ := cut("It was really late. It is getting later", 30); first != "It was really late." {
		t.Errorf("got %q", first)
	}
}
