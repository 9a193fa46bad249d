package convert_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"evalctl/daemon/convert"
)

// render returns the page that a Markdown reader shows for a document.
func render(t rapid.TB, markdown string) *html.Node {
	t.Helper()
	var b bytes.Buffer
	reader := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	if err := reader.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// words returns the words that a page shows.
func words(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br, n.DataAtom == atom.P, n.DataAtom == atom.Li, n.DataAtom == atom.Td, n.DataAtom == atom.Th:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// markup draws texts in which what Markdown and HTML interpret is frequent.
func markup() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom(strings.Fields("a b word Ann # ## ####### - + * ** _ __ a_b *a* ~ ~~ ~~~ ` `` ``` > >> 1. 2) 12 "+
			"[ ] ( ) [a] [a](b) [a]: [^1] ![ ! < <b> </b> <a <!-- --> <https://a.b> & &amp; &#35; &x; \\ \\* \\\\ | |-| --- === *** "+
			"a|b :-: http://a.b @ $ é 中文 . , : ; ' \" = {} / a\\ *a a* _a a_ a< a& ~a a~")),
		rapid.SampledFrom([]string{" ", "  ", "    ", "\t", "\n", "\n", "\n\n", ""}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 30).Draw(t, "pieces"), "")
	})
}

// Whatever a text contains, a reader of the document sees the words of the text, and no structure
// but paragraphs, lines, lists and preformatted text.
func TestTextShowsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "x " + markup().Draw(t, "text")
		doc, err := convert.Convert(t.Context(), convert.Text, "notes.txt", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		page := render(t, doc.Markdown)
		for n := range page.Descendants() {
			switch n.DataAtom {
			case 0, atom.Html, atom.Head, atom.Body, atom.P, atom.Br, atom.Pre, atom.Code, atom.Ul, atom.Li:
			default:
				t.Fatalf("the text became <%s>:\n%s", n.Data, doc.Markdown)
			}
		}
		// The mark of a list item is not part of its text.
		strip := strings.NewReplacer("- ", "")
		got, want := strip.Replace(words(page)+" "), strip.Replace(strings.Join(strings.Fields(text), " ")+" ")
		if got != want {
			t.Fatalf("shown:   %q\nwritten: %q\nMarkdown:\n%s", got, want, doc.Markdown)
		}
	})
}

// What an HTML page shows is what its document shows.
func TestHTMLShowsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("<p>x ")
		for _, text := range rapid.SliceOfN(markup(), 1, 6).Draw(t, "texts") {
			tag := rapid.SampledFrom([]string{"", "b", "i", "em", "span", "code", "p", "li", "blockquote", "h2", "div",
				"a href=https://e.org/x", "td"}).Draw(t, "tag")
			text = html.EscapeString(text)
			if tag == "" {
				b.WriteString(text)
				continue
			}
			name, _, _ := strings.Cut(tag, " ")
			if name == "td" {
				text = "<table><tr><td>" + text + "<td>y<tr><td>z<td>" + text + "</table>"
				tag, name = "div", "div"
			}
			b.WriteString("<" + tag + ">" + text + "</" + name + ">")
		}
		source := b.String()
		doc, err := convert.Convert(t.Context(), convert.HTML, "page.html", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		root, err := html.Parse(strings.NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		// Marks of emphasis make no difference to where words end.
		got, want := joined(words(render(t, doc.Markdown))), joined(words(root))
		if got != want {
			t.Fatalf("page:  %q\nshown: %q\nwants: %q\nMarkdown:\n%s", source, got, want, doc.Markdown)
		}
	})
}

// joined returns text without white space.
func joined(s string) string { return strings.Join(strings.Fields(s), "") }
