package printable_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/printable"
)

func Example() {
	fmt.Println(printable.Line("<html>\r\n\t<p>502\x1b[31m Bad Gateway, and much more", 28))
	// Output:
	// <html> <p>502�[31m Bad Gate…
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{" \n\t", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöü", 3, "äöü"},
		{" äöü\u2028x ", 5, "äöü x"},
		{" äöü\u2028xy ", 5, "äöü…"},
		{"a\u00a0 \u0085b", 9, "a b"},
		{"a\u202eb\x00\x7f", 9, "a\ufffdb\ufffd\ufffd"},
		{"a\xff\xfeb", 9, "a\ufffdb"},
		{"ab ", 2, "ab"},
		{"ab cd", 4, "ab…"},
	} {
		if got := printable.Line(c.text, c.most); got != c.want {
			t.Errorf("%q, %d: got %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\r\nb\x1b[2J\xff", 4)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, 1), 100)
		got := printable.Line(text, most)
		if n := utf8.RuneCountInString(got); n > most || !utf8.ValidString(got) {
			t.Errorf("%q became %d characters: %q", text, n, got)
		}
		bad := func(r rune) bool { return r != ' ' && r != utf8.RuneError && !unicode.IsPrint(r) }
		if strings.ContainsFunc(got, bad) || strings.Contains(got, "  ") || strings.HasPrefix(got, " ") {
			t.Errorf("%q became %q", text, got)
		}
		if most == 100 && len(text) < 100 && printable.Line(got, most) != got {
			t.Errorf("%q became %q, and then %q", text, got, printable.Line(got, most))
		}
	})
}
