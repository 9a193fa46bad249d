// Package markdowntest reads Markdown pages as GitHub does, for tests of programs that write them.
package markdowntest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Hostile are texts that would change a page if they were not escaped.
var Hostile = []string{
	"<script>alert(1)</script>", "</details><h1>hi", "<!--", "<img src=x onerror=y>", "&lt;b&gt; &amp;",
	"[link](https://evil.example/)", "![image](https://evil.example/x.png)", "[r]: https://evil.example/",
	"https://evil.example/ www.evil.example a@evil.example", "@maintainers #1 owner/repo#2", "$x$ $$y$$",
	"# heading", "- item", "1. item", "> quote", "---", "| a | b |", `a\|b`, `\`, `\\`, `a\`, "a|b", "|", "``` go",
	"`", "``", "` `", "`a`", "a``b`c", "**bold** _em_ ~~no~~", "a\n\n# heading\n\n<b>", "a\r\n|---|---|\r\nb",
	"\x1b[31mred\x00", "\u202egnp.exe", "a\xffb", "{{ x }} {% y %}", "~~~", "    code", "\t", "", "—", "日本語",
	"`|`", "@a|@b|https://evil.example/", "a |\\| b", "a|\\",
}

// Page is the content of a page.
type Page struct {
	// Spans are the texts of the code spans, in order.
	Spans []string
	// Headings and Tables count.
	Headings, Tables int

	tree   ast.Node
	source []byte
}

// Read reads a page. It fails the test if the page has anything that data must not become: a link,
// an image, HTML other than a folded part, a quotation, a line, a block of code.
func Read(t *testing.T, page string) Page {
	t.Helper()
	p := Page{source: []byte(page)}
	p.tree = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(p.source))
	err := ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			p.Spans = append(p.Spans, p.textOf(n))
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			p.Headings++
		case *tables.Table:
			p.Tables++
		case *ast.HTMLBlock:
			if html := string(n.Lines().Value(p.source)); !strings.HasPrefix(html, "<details><summary>") && !strings.HasPrefix(html, "</details>") {
				t.Errorf("HTML: %s", html)
			}
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.Blockquote, *ast.ThematicBreak,
			*ast.FencedCodeBlock, *ast.CodeBlock, *tables.Strikethrough, *tables.TaskCheckBox:
			t.Errorf("data became a node of type %s", n.Kind())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Error(err)
	}
	return p
}

// Row returns the cells of the last row of a page that is one table with two rows, nil if it is
// anything else.
func (p Page) Row() []string {
	grid, ok := p.tree.FirstChild().(*tables.Table)
	if !ok || grid.NextSibling() != nil || grid.ChildCount() != 2 {
		return nil
	}
	var cells []string
	for c := grid.LastChild().FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, p.textOf(c))
	}
	return cells
}

// textOf returns the text of a node, with the escapes of plain text resolved.
func (p Page) textOf(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			s := string(c.Segment.Value(p.source))
			if n.Kind() != ast.KindCodeSpan {
				s = unescape(s)
			}
			b.WriteString(s)
		case *ast.String:
			b.Write(c.Value)
		default:
			b.WriteString(p.textOf(c))
		}
	}
	return b.String()
}

// unescape removes the backslashes of escapes, which the parser keeps.
func unescape(s string) string {
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
