package scorer

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, pattern, answer string
		want                  bool
	}{
		{"as it is", `boat\s+house`, "a boat  house", true},
		{"hidden characters", `^blue boat$`, "\ufeffblue\u200b boat", true},
		{"hidden in the expression", "blue\u00ad boat", "blue boat", true},
		{"no-break space", `\d+ kg`, "25\u00a0kg", true},
		{"quotation marks of the expression", "“a b”", "\"a b\"", true},
		{"of the answer", `"a b"`, "“a b”", true},
		{"of both, and a space", "“a b”", "“a\u00a0b”", true},
		{"a dash in a class", "1990[–—]1995", "1990-1995", true},
		{"a class of ranges is kept", "^[a–c]$", "b", false},
		{"normal form of the answer", "caf[eé]s", "cafe\u0301s", true},
		{"normal form of the expression", "cafe\u0301", "café", true},
		{"line ends", `(?m)^one$\n^two$`, "one\r\ntwo\r\n", true},
		{"case", "boat", "Boat", false},
		{"folded", "(?i)ÉLAN", "élan", true},
		{"letters of all alphabets", `^\pL+$`, "Καλημέρα", true},
		{"what is excluded", `^[^-]*$`, "a-b", false},
		{"nothing left", "\u200b", "x", true},
	} {
		if got := matches(c.pattern, c.answer); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestUnmatchable(t *testing.T) {
	for pattern, want := range map[string]bool{
		`\bÖl\b`: true, `\bcafé\b`: true, `caf\b(é|en)`: true, `\b[ÄÖÜ]l`: true, `\b[aä]l`: false, `(?:x|\bя)`: true, `\B(öl)`: true,
		`\boil\b`: false, `öl`: false, `(`: false, `\b(?:a|b)é`: false, `é\s\bx`: false,
	} {
		if got := Unmatchable(pattern) != ""; got != want {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}
