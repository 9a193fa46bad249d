package mapping

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"evalctl/harness/target"
)

// TestScores checks which scores a reply may have, as JSON, as a text in JSON and in a text.
func TestScores(t *testing.T) {
	inJSON := parsed(t, "name: x\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {items: '$.hits[*]', text: $.t, score: $.s}}\n").search.reply
	inText := parsed(t, "name: x\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {format: text, split: '---', pattern: '(?s)score (?P<score>\\S+): (?P<text>.*)'}}\n").search.reply
	for score, want := range map[string]float64{"0.5": 0.5, "-2": -2, "1e3": 1000, "-0": 0, "87%": 87} {
		for form, items := range readAs(t, inJSON, inText, score) {
			if len(items) != 1 || items[0].score != want || math.Signbit(items[0].score) != (want < 0) {
				t.Errorf("%s, %s: %+v", form, score, items)
			}
		}
	}
	for score, says := range map[string]string{
		"NaN": "is not a number", "Inf": "is not a number", "-Infinity": "is not a number", "1e999": "is beyond", "0x1p4": "is not a number",
		"1_0": "is not a number", "high": "is not a number", "1e300": "is beyond",
	} {
		for _, c := range forms(score) {
			r := inJSON
			if c.plain {
				r = inText
			}
			_, err := r.read(t.Context(), c.reply, "s")
			_, failure := target.AsFailure(err)
			if err == nil || !failure || !strings.Contains(err.Error(), fmt.Sprintf("the reply of s: item 1: its score %q %s", score, says)) {
				t.Errorf("%s, %s: %v", c.name, score, err)
			}
		}
	}
}

type form struct {
	name  string
	plain bool
	reply callReply
}

func forms(score string) []form {
	return []form{
		{"text in JSON", false, callReply{texts: []string{`{"hits":[{"t":"a","s":"` + score + `"}]}`}}},
		{"text", true, callReply{texts: []string{"score " + score + ": a"}}},
	}
}

func readAs(t *testing.T, inJSON, inText *reply, score string) map[string][]foundItem {
	all := map[string][]foundItem{}
	for _, c := range forms(score) {
		r := inJSON
		if c.plain {
			r = inText
		}
		p, err := r.read(t.Context(), c.reply, "s")
		if err != nil {
			t.Errorf("%s, %s: %v", c.name, score, err)
		}
		all[c.name] = p.items
	}
	return all
}

// TestBoundsOfReplies checks the number of items, the length of names and the number of values.
func TestBoundsOfReplies(t *testing.T) {
	r := parsed(t, "name: x\nsearch: {tool: s, arguments: {q: '{query}'}, reply: {items: '$[*]', text: $.t, title: $.n}}\n").search.reply
	for text, says := range map[string]string{
		"[" + strings.Repeat(`{},`, maxItems) + "{}]":                   "it has 10001 items, the limit is 10000",
		`[{"t":"a","n":"` + strings.Repeat("x", maxItemName+1) + `"}]`:  "item 1: its title has 16385 bytes, the limit is 16384",
		"[" + strings.Repeat(`0,`, 2_000_000) + "0]":                    "so many values that it would take more than 64 MiB",
		strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000): "so many values that it would take more than 64 MiB",
	} {
		if _, err := r.read(t.Context(), callReply{texts: []string{text}}, "s"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %.200v", text, err)
		}
	}
	if p, err := r.read(t.Context(), callReply{texts: []string{"[" + strings.Repeat(`{"t":"a"},`, maxItems-1) + "{}]"}}, "s"); err != nil || len(p.items) != maxItems {
		t.Error(len(p.items), err)
	}
}
