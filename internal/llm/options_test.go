package llm

import (
	"strings"
	"testing"
)

func TestParseOptions(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Options
		err  string
	}{
		{"max_tokens=4000,temperature=none,response_format=none", Options{MaxTokens: 4000, Limit: LimitTokens, Temperature: "none", Format: "none"}, ""},
		{"max_completion_tokens=1, temperature=0.7 ,response_format=json_object,system=none",
			Options{MaxTokens: 1, Limit: LimitCompletion, Temperature: "0.7", Format: "json_object", System: "none"}, ""},
		{"system=system", Options{System: "system"}, ""},
		{"max_tokens", Options{}, "must be NAME=VALUE"},
		{"max_tokens=0", Options{}, "from 1 to"},
		{"max_tokens=many", Options{}, "from 1 to"},
		{"max_tokens=9,max_completion_tokens=9", Options{}, "one limit"},
		{"temperature=2.1", Options{}, "from 0 to 2, or none"},
		{"temperature=NaN", Options{}, "from 0 to 2, or none"},
		{"temperature=0,temperature=1", Options{}, "given twice"},
		{"response_format=text", Options{}, "json_object or none"},
		{"system=user", Options{}, "system or none"},
		{"seed=7", Options{}, "must be one of max_tokens, max_completion_tokens, temperature, response_format, system"},
	} {
		got, err := ParseOptions(strings.Split(tt.text, ","))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v", tt.text, err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v", tt.text, got, err)
		}
		if again, err := ParseOptions(strings.Split(got.String(), ",")); err != nil || again != got {
			t.Errorf("%s: %q is %+v, %v", tt.text, got, again, err)
		}
	}
	recipe, flag := Options{Temperature: "0.7"}, Options{MaxTokens: 9, Limit: LimitTokens, Temperature: "none"}
	if got := recipe.Or(flag); got != (Options{MaxTokens: 9, Limit: LimitTokens, Temperature: "0.7"}) {
		t.Errorf("got %+v", got)
	}
}
