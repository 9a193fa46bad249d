package store

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		fits, not string // names, separated by spaces
	}{
		{"a", "a", "b aa A"},
		{"*", "a ab .a", ""},
		{"**", "a ab", ""},
		{"*.md", "a.md .md a.md.md", "a.txt a.mdx md"},
		{"a*", "a ab", "ba"},
		{"a*b*c", "abc aXbXc abcbc", "ab acb abcd"},
		{"a*a", "aa aba", "a ab"},
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
		{"[[:alpha:]]", ":]", "a b"},
		{"a.b", "a.b", "aXb"},
		{"(a|b)+$", "(a|b)+$", "a b"},
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
	for _, pattern := range []string{
		"[", "[]", "[a", "[!", "[!]", "[^]", "a[b-", "[z-a]", "x[", "\x8e",
		strings.Repeat("?", MaxPathChars+1),
	} {
		if g, err := compileGlob(pattern); !IsInvalidPath(err) {
			t.Errorf("%.20s: %v, %v", pattern, g, err)
		}
	}
	for _, pattern := range []string{"*", "?", "[^a]", "[!a]"} {
		if g, err := compileGlob(pattern); err != nil || !g.match("\n") {
			t.Errorf("%s does not match a newline, %v", pattern, err)
		}
	}
}

// FuzzGlob compares compiled patterns with globMatch, and with path.Match where its patterns mean
// the same. Names are valid UTF-8, like all paths.
func FuzzGlob(f *testing.F) {
	f.Add("*.md", "a.md")
	f.Add("a*b*c", "aXbXc")
	f.Add("a*a", "a")
	f.Add("[a-c]?x", "bbx")
	f.Add("[^a-c]", "d")
	f.Add("[]!-]*[!]^]", "]-a")
	f.Add("*[é-日]?", "é\n日")
	f.Add(`\z$(.)`, `\z$(.)`)
	f.Add("*a*a*a*a*a*b", strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := compileGlob(pattern)
		if err != nil && !IsInvalidPath(err) {
			t.Fatalf("%q: %v", pattern, err)
		}
		if err != nil || !utf8.ValidString(name) {
			return
		}
		got := g.match(name)
		if want := globMatch([]rune(pattern), []rune(name)); got != want {
			t.Errorf("%q on %q: %t, want %t", pattern, name, got, want)
		}
		if strings.Contains(pattern, "[") || strings.ContainsAny(pattern+name, `\/`) {
			return
		}
		if strings.Contains(pattern, "*") && len(name) != utf8.RuneCountInString(name) {
			return // path.Match lets a star end inside a character
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q on %q: %t, but path.Match returns %t", pattern, name, got, want)
		}
	})
}

// globMatch matches a well-formed pattern element by element. After each element it keeps all
// positions in the name where the elements so far can end.
func globMatch(pattern, name []rune) bool {
	ends := make([]bool, len(name)+1)
	ends[0] = true
	for len(pattern) > 0 {
		if pattern[0] == '*' {
			if first := slices.Index(ends, true); first >= 0 {
				for i := range ends[first:] {
					ends[first+i] = true
				}
			}
			pattern = pattern[1:]
			continue
		}
		fits := func(c rune) bool { return c == pattern[0] }
		size := 1
		switch pattern[0] {
		case '?':
			fits = func(rune) bool { return true }
		case '[':
			fits, size = globSet(pattern)
		}
		next := make([]bool, len(ends))
		for i, c := range name {
			next[i+1] = ends[i] && fits(c)
		}
		pattern, ends = pattern[size:], next
	}
	return ends[len(name)]
}

// globSet returns the predicate of the set that pattern begins with, and the length of the set.
func globSet(pattern []rune) (fits func(rune) bool, size int) {
	at := 1
	negated := pattern[at] == '!' || pattern[at] == '^'
	if negated {
		at++
	}
	end := at + 1 + slices.Index(pattern[at+1:], ']') // the first member can be a ]
	members := pattern[at:end]
	fits = func(c rune) bool {
		for i := 0; i < len(members); i++ {
			low, high := members[i], members[i]
			if i+2 < len(members) && members[i+1] == '-' {
				high = members[i+2]
				i += 2
			}
			if low <= c && c <= high {
				return !negated
			}
		}
		return negated
	}
	return fits, end + 1
}
