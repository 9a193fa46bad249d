package store

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		fits, not string // names, apart by spaces
	}{
		{"a", "a", "b aa A"},
		{"*", "a ab .a", ""},
		{"**", "a ab", ""},
		{"*.md", "a.md .md a.md.md", "a.txt a.mdx md"},
		{"a*", "a ab", "ba"},
		{"a*b*c", "abc aXbXc abcbc", "ab acb abcd"},
		{"?", "a é 日", "ab"},
		{"a?c", "abc aéc", "ac abbc"},
		{"*??", "ab 日本", "a 日"},
		{"[abc]", "a b c", "d ab"},
		{"[a-c]x", "ax bx cx", "dx x"},
		{"[a-c0-9_]", "b 5 _", "d -"},
		{"[!a-c]", "d !", "a b c"},
		{"[^a-c]", "d ^", "a b c"},
		{"[a^!]", "a ^ !", "b"},
		{"[]a]", "] a", "b"},
		{"[!]a]", "b", "] a"},
		{"[a-]", "a -", "b"},
		{"[-a]", "a -", "b"},
		{"[а-я]", "б", "b"},
		{"]", "]", "["},
		{"-", "-", "a"},
		{"[*]", "*", "a"},
		{"[?]", "?", "a"},
		{"[[]", "[", "a"},
		{"a/b", "", "a b"},
	} {
		g, err := compileGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for name := range strings.FieldsSeq(c.fits) {
			if !g.match(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(c.not) {
			if g.match(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
	for _, pattern := range []string{"[", "[]", "[a", "[!", "[!]", "[^]", "a[b-", "[z-a]", "x[", "\x8e", strings.Repeat("?", MaxPathChars+1)} {
		if g, err := compileGlob(pattern); !IsInvalidPath(err) {
			t.Errorf("%.20s: %v, %v", pattern, g, err)
		}
	}
}

// FuzzGlob agrees with path.Match where both speak the same language.
func FuzzGlob(f *testing.F) {
	f.Add("*.md", "a.md")
	f.Add("a*b*c", "aXbXc")
	f.Add("[a-c]?x", "bbx")
	f.Add("[^a-c]", "d")
	f.Add("*a*a*a*a*a*b", strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := compileGlob(pattern)
		if err != nil {
			return
		}
		got := g.match(name)
		if strings.Contains(pattern, "[") || strings.ContainsAny(pattern+name, `\/`) || !utf8.ValidString(name) {
			return
		}
		if strings.Contains(pattern, "*") && len(name) != utf8.RuneCountInString(name) {
			return // path.Match lets a star end inside a character
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q on %q: %t, path.Match says %t", pattern, name, got, want)
		}
	})
}

// BenchmarkGlobHostile is the case that backtracking matchers explode on.
func BenchmarkGlobHostile(b *testing.B) {
	g, err := compileGlob(strings.Repeat("*a", 100) + "b")
	if err != nil {
		b.Fatal(err)
	}
	name := strings.Repeat("a", MaxSegmentBytes)
	for b.Loop() {
		if g.match(name) {
			b.Fatal("matches")
		}
	}
}
