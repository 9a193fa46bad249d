package store

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestValidPath(t *testing.T) {
	longName := strings.Repeat("n", MaxSegmentBytes)
	longPath := strings.Repeat(strings.Repeat("d", 15)+"/", 63) + strings.Repeat("a", 16) // 1,024 characters
	valid := []string{
		"a", "a/b", "a.md", ".a", "..a", "a..", "...", "a/.b/..c", "_a", "a b", " ", "-", "~", "*", "a:b",
		"é", "日本/語", "a\nb", "\x7f",
		longName, "d/" + longName, longPath,
	}
	for _, p := range valid {
		if err := ValidPath(p); err != nil {
			t.Errorf("%.40q: %v", p, err)
		}
	}
	invalid := map[string]string{
		"": "empty", "/": "starts with a slash", "/a": "starts with a slash", "a/": "ends with a slash",
		"a//b": "empty segment",
		".":    "dot segment", "..": "dot segment", "./a": "dot segment", "a/..": "dot segment",
		"a/./b": "dot segment", "a/../../b": "dot segment",
		"a\x00": "NUL", `a\b`: "backslash", "a\xff": "UTF-8", "\xed\xa0\x80": "UTF-8",
		longName + "n": "longer than 255 bytes", longPath + "a": "longer than 1024 characters",
		strings.Repeat("d/", MaxFolders+1) + "a":                                  "in more than 128 folders",
		strings.Repeat(strings.Repeat("😀", 63)+"/", 12) + strings.Repeat("😀", 20): "longer than 3072 bytes",
	}
	for p, want := range invalid {
		if err := ValidPath(p); !IsInvalidPath(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", p, err, want)
		}
	}
}

func FuzzValidPath(f *testing.F) {
	for _, p := range []string{"a/b.md", "", "/", "a//b", "../a", "a/.", "a\x00", `\`, "\xff", "é/_x"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if ValidPath(p) != nil {
			return
		}
		if path.Clean(p) != p || path.IsAbs(p) || path.Clean("/"+p) != "/"+p || !utf8.ValidString(p) ||
			strings.ContainsAny(p, "\x00\\") {
			t.Errorf("%q is valid", p)
		}
		for dir := parent(p); dir != ""; dir = parent(dir) {
			if ValidPath(dir) != nil || !isBelow(p, dir) {
				t.Errorf("directory %q of %q", dir, p)
			}
		}
	})
}
