package visible

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a b\tc\nd", "a b\tc\nd"},
		{"zero-width space", "blue\u200bboat", "blueboat"},
		{"soft hyphen", "boat\u00adhouse", "boathouse"},
		{"word joiner, byte order mark", "\ufeffa\u2060b", "ab"},
		{"joiners of emoji", "👩\u200d🚀", "👩🚀"},
		{"variation selector", "❤\ufe0f", "❤"},
		{"tag characters", "a\U000e0041b", "ab"},
		{"direction marks", "\u200eabc\u200f \u202aright\u202c", "abc right"},
		{"Mongolian vowel separator, Hangul filler, grapheme joiner", "a\u180eb\u3164c\u034fd", "abcd"},
		{"reserved, default ignorable", "a\u2065b\ufff0c", "abc"},
		{"what is between two letters of one", "e\u200b\u0301", "é"},
		{"control characters", "a\x00b\x1bc\x7fd", "abcd"},
		{"not hidden: annotations, marks of numbers", "\ufff9\u0600", "\ufff9\u0600"},
		{"CR LF", "a\r\nb", "a\nb"},
		{"CR", "a\rb", "a\nb"},
		{"a hidden character in CR LF", "a\r\u200b\nb", "a\nb"},
		{"other line ends", "a\u2028b\u2029c\u0085d", "a\nb\nc\nd"},
		{"spaces before a line end", "a  \nb \t\r\nc\u00a0\nd ", "a\nb\nc\nd "},
		{"typography", "“a”\u00a0‘b’ – c", `"a" 'b' - c`},
		{"case", "É", "É"},
	} {
		if got := Text(c.text); got != c.want {
			t.Errorf("%s: %+q, want %+q", c.name, got, c.want)
		}
	}
	for text, want := range map[string]string{"\u00a0A \r\n\u200b B ": "a b", "\u200b\u00ad": "", "STRASSE": "strasse"} {
		if got := Words(text); got != want {
			t.Errorf("%+q has the words %+q, want %+q", text, got, want)
		}
	}
}

// anything has text in which folding, normalising, hiding and plain characters meet.
var anything = rapid.StringOf(rapid.OneOf(
	rapid.Rune(),
	rapid.SampledFrom([]rune("aJeKΣςßŉǰΐᾳK \r\n\t\u0085\u2028\u200b\u00ad\u034f\ufe0f\u0600\u00a0\u2007\u202f\u3000'’‘ʼ＇“”„-–—−‑\u0301\u0308\u030c\u0345\u0327가\u11a8\u1160\u115f")),
))

// TestTwice checks that a text that is compared already is compared as it is, and that its normal
// forms, its line ends and its hidden characters make no difference.
func TestTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { checkTwice(rt, anything.Draw(rt, "text")) })
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "Straße", "25\u00a0kg", "O’Brien", "ŉ", "J\u030c", "ᾳ\u0301", "\xff\u0301a", "\u1100\u1161", "a \r\n\u00adb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkTwice(t, s) })
}

func checkTwice(t rapid.TB, s string) {
	for name, compared := range map[string]func(string) string{"Text": Text, "Folded": Folded} {
		once := compared(s)
		if twice := compared(once); twice != once {
			t.Errorf("%s: %+q becomes %+q, and that %+q", name, s, once, twice)
		}
		if !utf8.ValidString(s) {
			continue // it has no normal forms
		}
		unix := strings.ReplaceAll(s, "\r", "")
		for _, pair := range [][2]string{
			{s, norm.NFC.String(s)}, {s, norm.NFD.String(s)}, {s, "\ufeff" + s + "\u200b"},
			{s, strings.Join(strings.Split(s, ""), "\u00ad")}, {unix, strings.ReplaceAll(unix, "\n", "\r\n")},
		} {
			if one, other := compared(pair[0]), compared(pair[1]); one != other {
				t.Errorf("%s: %+q becomes %+q, and %+q, which looks the same, %+q", name, pair[0], one, pair[1], other)
			}
		}
		if strings.ContainsFunc(once, func(r rune) bool {
			return r != ' ' && unicode.Is(unicode.Zs, r) || r != '-' && unicode.Is(unicode.Pd, r) || r == '’' || r == '\r' || IsHidden(r)
		}) {
			t.Errorf("%s: %+q becomes %+q, which is not plain", name, s, once)
		}
	}
}

// BenchmarkFolded measures texts that are plain already, and others.
func BenchmarkFolded(b *testing.B) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("The ferry leaves at nine from the old pier. ", 20),
		"other": strings.Repeat("Die Fähre legt um neun “am alten Pier” ab. ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Folded(text)
			}
		})
	}
}
