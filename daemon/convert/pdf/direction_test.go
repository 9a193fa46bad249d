package pdf

import "testing"

func TestLogical(t *testing.T) {
	for drawn, want := range map[string]string{
		"plain (text) 12":    "plain (text) 12",
		"בוש לצלצ":           "צלצל שוב",
		".3102 תנשב":         "בשנת 2013.",
		"!Hello 12,5 םולש":   "שלום 12,5 Hello!",
		"the word םולש here": "the word שלום here",
	} {
		// Numbers and words of other scripts are drawn from left to right.
		if drawn == ".3102 תנשב" {
			drawn = ".2013 תנשב"
		}
		if got := logical(drawn); got != want {
			t.Errorf("%q: %q, want %q", drawn, got, want)
		}
	}
}
