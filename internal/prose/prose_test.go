package prose_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/prose"
)

// TestSplit has each text as its sentences, with a vertical bar between them.
func TestSplit(t *testing.T) {
	for name, marked := range map[string]string{
		"abbreviations":      "Dr. Ekberg met J. Wick at 4.30 p.m. in Rye, e.g. Monday. |Then he left.",
		"in quotes":          `"Mr. Fox" (St. Ives) is here. |“Dr. Lopez” is not.`,
		"spaced initials":    "Er hat z. B. 12 Euro. |Ask for plan b. |It is new.",
		"no abbreviations":   "We met Bob. |He sang in May. |It was fun.",
		"numbering":          "See No. 5 and pp. 3 to 7. |Is it? |No. |I think not.",
		"quotation":          `She said “Go.” |He went (slowly.) |They slept. |"Fine." |Said he.`,
		"quoted question":    "“Really?” she said. |Yes.",
		"ellipsis":           "Wait… |Really?! |Yes... |No... never.",
		"Chinese":            "小李养了一只猫。|它很胖！|“真的？”|**是。**",
		"other brackets":     "{One.} |Two. |【三。】|《四。》|五。",
		"Hindi and Arabic":   "वह घर है। |यह नदी है। |هل هذا بيت؟ |نعم.",
		"number at the end":  "It opened in 1998. |It closed.",
		"decimal number":     "It costs 3.50 euros. |No more.",
		"address":            "Ask example.com. |It has v1.2.",
		"small letter":       "One. |Two! |Three? four. |[shares a photo]",
		"emphasis":           "**It is red.** |_It leaks!_ |`x.` |Done.",
		"references":         "It is red. [1] |it leaks [2]. |Nobody knows.[2, 3] [4] |Then. |[X] y",
		"line breaks":        "The boat\n|is red.\r\n|it leaks\n\n |now",
		"only space":         " \t\n",
		"nothing":            "",
		"marks without text": "... |!",
	} {
		want := strings.FieldsFunc(marked, func(r rune) bool { return r == '|' })
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if len(want) == 0 || want[0] == "" {
			want = nil
		}
		text := strings.ReplaceAll(marked, "|", "")
		if diff := cmp.Diff(want, slices.Collect(prose.Split(text))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEnds(t *testing.T) {
	for text, want := range map[string]bool{"": false, "a": false, "a.": true, "a?\")": true, "。": true, "a.*": false, ";": false} {
		if got := prose.Ends(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

// FuzzSplit: the sentences have everything of the text but white space, in order.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"One. Two.", "a.b", "“Go.” He", "。！", "..", "\xff. A", "Dr. X! y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		bare := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, s)
		}
		var all []string
		for s := range prose.Split(text) {
			if s != strings.TrimSpace(s) || s == "" {
				t.Errorf("%q: %q", text, s)
			}
			all = append(all, s)
		}
		if got := bare(strings.Join(all, "")); got != bare(text) {
			t.Errorf("%q becomes %q", text, all)
		}
	})
}
