package question

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"evalctl/daemon/language"
)

func TestParseOperators(t *testing.T) {
	for _, c := range []struct {
		text, words string
		operators   []string
	}{
		{`"red car"`, `red car`, []string{`"red car"`}},
		{`the "red car" in town -blue`, `the red car in town`, []string{`"red car"`, `-blue`}},
		{`“red car”`, `red car`, []string{`“red car”`}},
		{`"red car", "blue"`, `red car blue`, []string{`"red car"`, `"blue"`}},
		{`"Who is there?"`, `Who is there?`, []string{`"Who is there?"`}},
		{`red -car`, `red`, []string{`-car`}},
		{`red −car`, `red`, []string{`−car`}},
		{`red -"big car"`, `red`, []string{`-"big car"`}},
		{`red -car*`, `red`, []string{`-car*`}},
		{`red -e-mail`, `red`, []string{`-e-mail`}},
		{`-car`, ``, []string{`-car`}},
		{`auto*`, `auto`, []string{`auto*`}},
		{`auto* -car*, red`, `auto red`, []string{`auto*`, `-car*`}},
		{`東京*`, `東京`, []string{`東京*`}},
		{`tea OR coffee`, `tea coffee`, []string{`tea OR coffee`}},
		{`tea OR "hot milk" OR choc* cup`, `tea hot milk choc cup`, []string{`tea OR "hot milk" OR choc*`}},
		{`tea OR -coffee`, `tea OR`, []string{`-coffee`}},
		{`green tea OR coffee -milk`, `green tea coffee`, []string{`tea OR coffee`, `-milk`}},
		{`"TCP" OR "UDP"`, `TCP UDP`, []string{`"TCP" OR "UDP"`}},
		{`-говорить слово`, `слово`, []string{`-говорить`}},
		{"می\u200cخواهم -نمی\u200cخواهم", "می\u200cخواهم", []string{"-نمی\u200cخواهم"}},
	} {
		words, _, operators := ParseOperators(c.text)
		if words != c.words || !slices.Equal(operators, c.operators) {
			t.Errorf("%q is read as %q with %q, want %q with %q", c.text, words, operators, c.words, c.operators)
		}
	}
}

// Whatever people write in plain text is not an operator.
func TestPlainText(t *testing.T) {
	for _, text := range []string{
		``, ` `, `plain words`, `e-mail and well-known`, `Paris - London`, `Paris – London`, `Paris –London`, `pre- and post-war`,
		`don't`, `the dogs' house`, `'single quotes'`, `rock 'n' roll`, `5" nails and 6" bolts`, `12"x14"`, `the 3.5" disk`,
		`an "unbalanced quote`, `quote" at the end`, `""`, `" "`, `"!?"`, `a"b"c`, `title:"red car"`,
		`*`, `**`, `a * b`, `2*3`, `*word*`, `**bold**`, `C* algebra`, `A* search`, `f**k`, `*.go`, `foo/*`,
		`tea or coffee`, `Or else`, `OR`, `OR tea`, `tea OR`, `tea OR OR coffee`, `-5`, `-5 degrees`, `--flag`, `run --flag`,
		`TCP OR UDP`, `BAGUE EN OR BLANC`, `Portland, OR`, `C++`, `C# -c++`, `ls -rw-r--r--`, `-DKEY=value`, `-foo/bar`, `-`, `--`, `-"`, `a -`,
		`the "red car" in town`, `Anna said "see you soon" at the pier`, `"see you soon", said Anna`, `I read "Dune" yesterday`,
		`Who wrote "War and Peace"?`, `I read "Dune". Who wrote it? Thanks`, `Did he say "no -never" OR "yes"?`,
		`What did he mean by "happy place."`, `He sang "Help!"`, `Τι είναι το "Φως";`, `「東京」とは何ですか？ -大阪`, `ما معنى "سلام"؟`,
		`jet interference -dash experimental papers .`, "- milk\n- eggs", "-milk\n-eggs", "\"red\ncar\"",
		strings.Repeat("word ", 32) + `-not`,
	} {
		if words, c, operators := ParseOperators(text); words != text || !isEmpty(c) || len(operators) > 0 {
			t.Errorf("%q is read as %q with %q, want no operators", text, words, operators)
		}
	}
}

func TestGivenOperators(t *testing.T) {
	for text, want := range map[string][]string{
		`the "red car" in town`: {`"red car"`}, `Who wrote "War and Peace"?`: {`"War and Peace"`}, "a\n-b": {"-b"}, "plain words": nil,
	} {
		if _, _, operators := GivenOperators(text); !slices.Equal(operators, want) {
			t.Errorf("%q has the operators %q, want %q", text, operators, want)
		}
	}
}

func isEmpty(c Conditions) bool { return len(c.All)+len(c.None) == 0 }

func FuzzParseOperators(f *testing.F) {
	for _, seed := range []string{`a "b c" -d e* f OR g`, `“a”`, `-"`, `"" -`, `a OR "b" OR`, "\"\x80 -\xff*", `a؟`, "-́", `"a"."b"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, c, operators := ParseOperators(text)
		if len(operators) == 0 && (words != text || !isEmpty(c)) || len(operators) > 0 && isEmpty(c) {
			t.Fatalf("%q: %q with %d operators", text, words, len(operators))
		}
		for _, p := range c.None {
			if p.Empty() {
				t.Errorf("%q excludes nothing", text)
			}
		}
		for _, group := range c.All {
			for _, a := range group {
				if a.Written.Empty() == (a.Word == "") {
					t.Errorf("%q has an alternative without words, or with both", text)
				}
			}
		}
		letters := func(text string) int { // of words that are ranked
			return len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }))
		}
		if letters(words) > letters(text) {
			t.Errorf("%q has more words than %q", words, text)
		}
	})
}

// What is not an operator stays: every word of the text is ranked by, or excluded, or OR.
func TestOperatorsProperty(t *testing.T) {
	piece := rapid.SampledFrom([]string{`red`, `"blue car"`, `-green`, `auto*`, `OR`, `TEA`, `-"big dog"`, `*`, `"`, `C++`, `--x`, `e-mail`, `it's`, `東京`, `?`, `.`})
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(piece, 0, 8).Draw(rt, "pieces")
		text := strings.Join(pieces, " ")
		words, c, operators := ParseOperators(text)
		plain, _, _ := ParseOperators(words)
		for _, p := range pieces {
			bare := strings.Trim(p, `"*`)
			if excluded := strings.HasPrefix(p, "-") && len(c.None) > 0; !excluded && p != "OR" && !strings.Contains(words, bare) {
				rt.Errorf("%q is read as %q with %q: %q is missing", text, words, operators, p)
			}
		}
		// Words of a phrase may look like operators themselves once they are read without its
		// quotes.
		again := strings.HasPrefix(strings.TrimSpace(words), "-")
		if len(operators) > 0 && !again && language.NewPhrase(plain, false).Empty() != language.NewPhrase(words, false).Empty() {
			rt.Errorf("%q loses its words", words)
		}
	})
}
