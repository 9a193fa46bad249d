package scorer

import (
	"encoding/json"
	"strings"
	"testing"
)

var replies = []struct {
	name, text string
	ok         bool
	score      float64
	problem    string
}{
	{"plain", `{"score": 0.5, "reason": "half"}`, true, 0.5, ""},
	{"other order and spaces", " \n{\"reason\":\"\",\"score\":1}\n", true, 1, ""},
	{"exponent", `{"score": 5e-1, "reason": "r"}`, true, 0.5, ""},
	{"minus zero", `{"score": -0.0, "reason": "r"}`, true, 0, ""},
	{"words inside", `{"score": 0, "reason": "incorrect: \"score\": 1 } {"}`, true, 0, ""},
	{"empty", "  ", false, 0, "empty"},
	{"fenced", "```json\n{\"score\": 1, \"reason\": \"r\"}\n```", false, 0, "code fence"},
	{"prose", "I would say 1.0, since it is correct.", false, 0, "one JSON object alone"},
	{"prose before", `Sure: {"score": 1, "reason": "r"}`, false, 0, "one JSON object alone"},
	{"prose after", `{"score": 1, "reason": "r"} Done.`, false, 0, "one JSON object alone"},
	{"bare number", `1`, false, 0, "one JSON object alone"},
	{"null", `null`, false, 0, "one JSON object alone"},
	{"array", `[{"score": 1, "reason": "r"}]`, false, 0, "one JSON object alone"},
	{"two objects", `{"score": 1, "reason": "r"}{"score": 0, "reason": "r"}`, false, 0,
		"one JSON object alone"},
	{"unfinished", `{"score": 1, "reason": "r`, false, 0, "one JSON object alone"},
	{"string score", `{"score": "1", "reason": "r"}`, false, 0, "not a number"},
	{"true", `{"score": true, "reason": "r"}`, false, 0, "not a number"},
	{"null score", `{"score": null, "reason": "r"}`, false, 0, "not a number"},
	{"object score", `{"score": {"score": 1}, "reason": "r"}`, false, 0, "not a number"},
	{"too high", `{"score": 1.5, "reason": "r"}`, false, 0, "between 0 and 1"},
	{"percent", `{"score": 90, "reason": "r"}`, false, 0, "between 0 and 1"},
	{"negative", `{"score": -0.1, "reason": "r"}`, false, 0, "between 0 and 1"},
	{"beyond float", `{"score": 1e999, "reason": "r"}`, false, 0, "between 0 and 1"},
	{"NaN", `{"score": NaN, "reason": "r"}`, false, 0, "one JSON object alone"},
	{"same key twice", `{"score": 0, "reason": "r", "score": 1}`, false, 0, "twice"},
	{"escaped key twice", `{"score": 0, "reason": "r", "\u0073core": 1}`, false, 0, "twice"},
	{"other case", `{"Score": 1, "reason": "r"}`, false, 0, "both"},
	{"other key", `{"score": 1, "reason": "r", "verdict": "yes"}`, true, 1, ""},
	{"other keys twice", `{"v": 0, "score": 0.5, "steps": [{"score": 1}], "reason": "r", "v": "1"}`, true, 0.5, ""},
	{"only other keys", `{"grade": 1, "why": "r"}`, false, 0, "both"},
	{"no reason", `{"score": 1}`, false, 0, "both"},
	{"no score", `{"reason": "r"}`, false, 0, "both"},
	{"reason not text", `{"score": 1, "reason": ["r"]}`, false, 0, "not a string"},
}

func TestParseReply(t *testing.T) {
	for _, tt := range replies {
		t.Run(tt.name, func(t *testing.T) {
			score, _, err := parseReply(tt.text)
			if tt.ok != (err == nil) || score != tt.score ||
				err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, %v", score, err)
			}
		})
	}
}

func FuzzParseReply(f *testing.F) {
	for _, tt := range replies {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		score, _, err := parseReply(text)
		if err != nil {
			if score != 0 {
				t.Errorf("%q: %v with %v", text, score, err)
			}
			return
		}
		var m map[string]any
		if !(score >= 0 && score <= 1) || json.Unmarshal([]byte(text), &m) != nil || len(m) < 2 || m["score"] == nil || m["reason"] == nil {
			t.Errorf("%q: accepted as %v", text, score)
		}
	})
}
