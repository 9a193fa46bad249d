package pdf

import "testing"

func TestLogical(t *testing.T) {
	for drawn, want := range map[string]string{
		"plain (text) 12":       "plain (text) 12",
		"בוש לצלצ":              "צלצל שוב",
		".2013 תנשב":            "בשנת 2013.",
		"!Hi 12,5 םולש":         "שלום Hi 12,5!",
		"the words בוש לצלצ go": "the words צלצל שוב go",
	} {
		if got := logical(drawn); got != want {
			t.Errorf("%q: %q, want %q", drawn, got, want)
		}
	}
}
