package nightly

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"evalctl/harness/result"
	"evalctl/internal/printable"
)

// hostile are texts that would change a page if they were not escaped.
var hostile = []string{
	"<script>alert(1)</script>", "</details><h1>hi", "<!--", "<img src=x onerror=y>", "&lt;b&gt; &amp;",
	"[link](https://evil.example/)", "![image](https://evil.example/x.png)", "[r]: https://evil.example/",
	"https://evil.example/ www.evil.example a@evil.example", "@maintainers #1 owner/repo#2", "$x$ $$y$$",
	"# heading", "- item", "1. item", "> quote", "---", "| a | b |", `a\|b`, `\`, `\\`, `a\`, "a|b", "|", "``` go",
	"`", "``", "` `", "`a`", "a``b`c", "**bold** _em_ ~~no~~", "a\n\n# heading\n\n<b>", "a\r\n|---|---|\r\nb",
	"\x1b[31mred\x00", "\u202egnp.exe", "a\xffb", "{{ x }} {% y %}", "~~~", "    code", "\t", "", "—", "日本語",
}

// parse returns the tree of a page as GitHub reads it.
func parse(page string) (ast.Node, []byte) {
	source := []byte(page)
	reader := goldmark.New(goldmark.WithExtensions(extension.GFM))
	return reader.Parser().Parse(text.NewReader(source)), source
}

// spans returns the texts of the code spans of a tree, and the number of its headings. It is an
// error if the tree has a node that data must not become.
func spans(t *testing.T, node ast.Node, source []byte) (out []string, headings int) {
	ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			out = append(out, textOf(n, source))
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			headings++
		case *ast.HTMLBlock:
			if html := string(n.Lines().Value(source)); !strings.HasPrefix(html, "<details><summary>") && !strings.HasPrefix(html, "</details>") {
				t.Errorf("HTML: %s", html)
			}
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.Blockquote, *ast.ThematicBreak,
			*ast.FencedCodeBlock, *ast.CodeBlock, *tables.Strikethrough, *tables.TaskCheckBox:
			t.Errorf("data became a node of type %s", n.Kind())
		}
		return ast.WalkContinue, nil
	})
	return out, headings
}

// textOf returns the text of a node, with the entities and escapes of plain text resolved.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(source))
		case *ast.String:
			b.Write(c.Value)
		default:
			b.WriteString(textOf(c, source))
		}
	}
	return b.String()
}

func TestSpan(t *testing.T) {
	for _, data := range hostile {
		checkSpan(t, data)
		checkCell(t, data)
	}
}

func FuzzSpan(f *testing.F) {
	for _, data := range hostile {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		checkSpan(t, data)
		checkCell(t, data)
	})
}

// checkSpan checks that a text is shown as it is in a list.
func checkSpan(t *testing.T, data string) {
	t.Helper()
	want := printable.Line(data, textLength)
	if want == "" {
		return
	}
	tree, source := parse("- what: " + span(data, textLength) + ", more\n")
	if got, headings := spans(t, tree, source); len(got) != 1 || got[0] != want || headings > 0 {
		t.Errorf("%q became %q with %d headings", data, got, headings)
	}
}

// checkCell checks that a name is shown as it is in a table.
func checkCell(t *testing.T, data string) {
	t.Helper()
	want := printable.Line(data, nameLength)
	if want == "" {
		return
	}
	var b strings.Builder
	table := newTable("ll", "a", "b")
	table.row(cell(data), "end")
	table.write(&b)
	tree, source := parse(b.String())
	spans(t, tree, source)
	grid, ok := tree.FirstChild().(*tables.Table)
	if !ok || grid.NextSibling() != nil {
		t.Fatalf("%q broke the table:\n%s", data, b.String())
	}
	row := grid.LastChild()
	first, last := row.FirstChild(), row.LastChild()
	unescaped := func(n ast.Node) string { return unescape(n, source) }
	if grid.ChildCount() != 2 || row.ChildCount() != 2 || unescaped(first) != want || textOf(last, source) != "end" {
		t.Errorf("%q became the cells %q and %q", data, unescaped(first), textOf(last, source))
	}
}

// unescape returns the text of a cell. The parser keeps the backslashes of escapes in plain text.
func unescape(n ast.Node, source []byte) string {
	s := textOf(n, source)
	if n.FirstChild() != nil && n.FirstChild().Kind() == ast.KindCodeSpan {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		b.WriteRune(r)
		i += size
	}
	return b.String()
}

// TestHostileReport puts hostile texts everywhere, and compares the page with that of plain texts.
func TestHostileReport(t *testing.T) {
	count := func(tree ast.Node) (n int) {
		for c := tree.FirstChild(); c != nil; c = c.NextSibling() {
			if c.Kind() == tables.KindTable {
				n++
			}
		}
		return n
	}
	plain := render(t, func(i int) string { return fmt.Sprintf("plain %d", i) })
	tree, source := parse(plain)
	want, headings := spans(t, tree, source)
	grids := count(tree)
	for n := range hostile {
		page := render(t, func(i int) string { return hostile[(n+i)%len(hostile)] })
		tree, source := parse(page)
		got, found := spans(t, tree, source)
		if found != headings {
			t.Errorf("%q: %d headings, want %d", hostile[n], found, headings)
		}
		// Empty texts and those with a vertical bar in a table are no code spans.
		if len(got) > len(want) || len(got) < len(want)/2 {
			t.Errorf("%q: %d code spans, of plain texts %d", hostile[n], len(got), len(want))
		}
		if found := count(tree); found != grids {
			t.Errorf("%q: %d tables, want %d", hostile[n], found, grids)
		}
	}
}

// render returns a report of two arms whose texts are all from next.
func render(t *testing.T, next func(int) string) string {
	t.Helper()
	dir, i := t.TempDir(), 0
	data := func() string { i++; return next(i) }
	arms := []Arm{}
	for n, name := range []string{"go", "ts"} {
		m := replayOf(name, every(4+n))
		for q := range m.Questions {
			r := &m.Questions[q]
			r.ID += " " + data()
			r.Question, r.Answer, r.Reference, r.Reason = data(), data(), data(), data()
		}
		m.Questions[3].Outcome, m.Questions[3].Score, m.Questions[3].Passed = result.Errored, nil, false
		m.Questions[3].Error = &result.Failure{Message: data()}
		m.fill()
		id, r := &m.Identity, m.Replay
		id.Dataset.Path, id.Daemon.Version, id.Daemon.Program, id.Mode = data(), data(), data(), data()
		id.Judge.Model, r.Actor.Model, r.Load.Format = data(), data(), data()
		r.Load.Traps[0].Kind, r.Load.Traps[0].Examples = data(), []string{data(), data()}
		r.Sample.Strata = []result.Drawn{{Name: data(), Population: 9, Sampled: 3}}
		for s := range r.Strata {
			r.Strata[s].Name = data()
		}
		r.Errata = &result.ErrataUse{Path: data(), IDs: []string{data()}}
		m.EffectiveModes = map[string]int{"m" + data(): 3}
		m.CostAccounting.Unpriced = []string{data()}
		m.CostAccounting.Tokens = map[string]result.ModelTokens{"m" + data(): {}}
		arms = append(arms, Arm{Name: "arm " + data(), Path: m.save(t, dir, name+".json"), Problem: data()})
	}
	return report(t, dir, arms...)
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{dollars(0), "0.00"}, {dollars(2.7925), "2.79"}, {dollars(0.0405), "0.04050"}, {dollars(0.123456), "0.1235"},
		{dollars(0.000012346), "0.00001235"}, {dollars(1e-12), "0.000000000"}, {dollars(1234.5), "1234.50"},
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(1234567), "1,234,567"},
		{milliseconds(nil), "–"}, {milliseconds(new(1.25)), "1.2 ms"}, {milliseconds(new(912.4)), "912 ms"},
		{milliseconds(new(12103.0)), "12.1 s"}, {share(1, 0), "–"}, {share(1, 3), "0.333"},
		{probability(0.0004), "< 0.001"}, {probability(0.189), "0.189"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

// TestLargeReport checks that GitHub shows all of a report.
func TestLargeReport(t *testing.T) {
	dir := t.TempDir()
	var arms []Arm
	for i := range 6 {
		name := fmt.Sprint("arm", i)
		m := replayOf(name, func(n int) bool { return n != i })
		for q := range m.Questions {
			r := &m.Questions[q]
			r.ID += strings.Repeat("語", 999)
			r.Question, r.Answer = strings.Repeat("問", 500), strings.Repeat("答", 500)
			r.Reference, r.Reason = strings.Repeat("参", 500), strings.Repeat("理", 500)
		}
		arms = append(arms, Arm{Name: name, Path: m.save(t, dir, name+".json")})
	}
	page := report(t, dir, arms...)
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
	if !strings.Contains(page, "… and 49 more, in the result file") {
		t.Error("it does not say that failures are left out")
	}
}
