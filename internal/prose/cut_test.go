package prose_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"evalctl/internal/prose"
)

// TestCut has a vertical bar at the cut.
func TestCut(t *testing.T) {
	for marked, most := range map[string]int{
		"|":                                           0,
		"all of it|":                                  9,
		"It is here. One.\n\n|Two.\nThree. Four":      30,
		"It is here. One. Two.\n|Three. Four":         30,
		"It is wet. |It was cold and":                 19,
		"It is wet. It was |cold and":                 22,
		"One sentence by Dr. |Fox":                    21,
		"nospaces|here":                               8,
		"a longwordwitho|utend":                       15,
		"\u65e5\u672c|\u8a9e":                         8,
		"\u65e5\u672c\u8a9e\u3002|\u65e5\u672c\u8a9e": 18,
	} {
		text := strings.ReplaceAll(marked, "|", "")
		if got := prose.Cut(text, most); got != strings.Index(marked, "|") {
			t.Errorf("%q, %d: got %q", marked, most, text[:got])
		}
	}
}

// FuzzCut: a text is divided within its limit, and not within a character.
func FuzzCut(f *testing.F) {
	f.Add("One. Two\n\nthree", 9)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, utf8.UTFMax), 100)
		text = strings.ToValidUTF8(text, "?")
		at := prose.Cut(text, most)
		if at > most || at == 0 && text != "" || !utf8.ValidString(text[:at]) {
			t.Errorf("%q, %d: got %d", text, most, at)
		}
	})
}
