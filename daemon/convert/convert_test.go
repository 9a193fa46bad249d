package convert_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"evalctl/daemon/convert"
	"evalctl/daemon/protocol"
)

func TestConvert(t *testing.T) {
	tests := []struct {
		name  string
		kind  convert.Kind
		data  string
		want  string
		title string
	}{
		{"markdown stays as it is", convert.Markdown, "\ufeff---\r\ntitle: x\r\n---\r\n# A\n\n\n<b>b</b>\t", "\ufeff---\r\ntitle: x\r\n---\r\n# A\n\n\n<b>b</b>\t", ""},
		{"markdown in UTF-16", convert.Markdown, "\xff\xfe#\x00 \x00\xe9\x00", "# é", ""},

		{"text of paragraphs", convert.Text, "One line,\nthe next.\n\n\n\nsnake_case & 2 * 3 < 4, C#, a [note]\n", "One line,  \nthe next.\n\nsnake_case & 2 * 3 < 4, C#, a [note]\n", ""},
		{"text with marks", convert.Text, "Fine.\n\n# no heading\n\n*no* emphasis\n\nFine.", "Fine.\n\n```\n# no heading\n\n*no* emphasis\n```\n\nFine.\n", ""},
		{"text that looks like front matter", convert.Text, "---\ntitle: x\n---\n\nText.", "```\n---\ntitle: x\n---\n```\n\nText.\n", ""},
		{"text with a fence", convert.Text, "```\nx\n````", "`````\n```\nx\n````\n`````\n", ""},
		{"text in columns", convert.Text, "a    b\n1\t2", "```\na    b\n1\t2\n```\n", ""},
		{"text with list", convert.Text, "Buy:\n- milk\n- eggs", "Buy:  \n- milk  \n- eggs\n", ""},
		{"text with ends of line", convert.Text, "\ufeffa\r\nb\rc\x0bd\x1b\x00"[:12], "a  \nb  \nc  \nd\n", ""},
		{"text in UTF-16", convert.Text, "\xfe\xff\x00a\x00\n\x00\n\x04\x16", "a\n\nЖ\n", ""},

		{"json object", convert.JSON, `{"title":" The \n clock","n":1.50e400,"s":"42","t":true,"e":{},"a":[1, 2],"l":["x",{"k":null}],"m":"a\nb"}`,
			"```\ntitle: |\n   The \n   clock\nn: 1.50e400\ns: \"42\"\nt: true\ne: {}\na: [1, 2]\nl:\n  - x\n  - k: null\nm: |\n  a\n  b\n```\n", "The clock"},
		{"json scalar", convert.JSON, " \"# a\\nb\" ", "```\n# a\nb\n```\n", ""},
		{"json lines", convert.JSON, "{\"a\":1}\n\n{\"b\":\"x\"}\r\n", "```\n- a: 1\n- b: x\n```\n", ""},
		{"json with mark", convert.JSON, "\ufeff[12345678901234567890, 0.10]", "```\n[12345678901234567890, 0.10]\n```\n", ""},
		{"json with escapes", convert.JSON, `{"a\u0000\nb":"\u0007\ud83d\ude00\ud800"}`, "```\na b: 😀\ufffd\n```\n", ""},

		{"html", convert.HTML, "<title> A\n&amp; B </title><h1>Head</h1><p>Text", "# Head\n\nText\n", "A & B"},
		{"html with emphasis at the edge of words", convert.HTML, "<p>a<b>“q”</b> <b>b.</b>c <b>d</b>e <i>f </i>g", "a“q” b.c **d**e *f* g\n", ""},
		{"html in a charset", convert.HTML, "<meta charset=windows-1251><p>\xc6", "Ж\n", ""},
		{"html in UTF-8 without a declaration", convert.HTML, strings.Repeat(" ", 2000) + "<p>é", "é\n", ""},
		{"html in Latin-1 without a declaration", convert.HTML, "<p>caf\xe9", "café\n", ""},
		{"html with a shared title", convert.HTML, `<meta property="og:title" content="Shared"><p>x`, "x\n", "Shared"},
		{"html with a heading", convert.HTML, "<p>x<h1>First</h1>", "x\n\n# First\n", "First"},
		{"html with the name of a site", convert.HTML, "<title>First - Site</title><h1>First</h1>x", "# First\n\nx\n", "First"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := convert.Convert(t.Context(), tt.kind, "x", []byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if doc.Markdown != tt.want || doc.Title != tt.title {
				t.Errorf("title %q, markdown\n%q, want %q\n%q", doc.Title, doc.Markdown, tt.title, tt.want)
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	tests := []struct {
		name string
		kind convert.Kind
		data string
		want string // in the error
	}{
		{"empty", convert.Markdown, "", "no text"},
		{"blank", convert.Text, " \n\t\ufeff", "no text"},
		{"binary", convert.Text, "a\x00b", "byte 1 is NUL"},
		{"binary", convert.Markdown, "a\x00b", "byte 1 is NUL"},
		{"latin-1", convert.Text, "one\ntw\xf6", "line 2: byte 6 is not UTF-8"},
		{"latin-1", convert.Markdown, "tw\xf6", "line 1: byte 2 is not UTF-8"},
		{"a PDF", convert.Text, "%PDF-1.7\n", "convert it as pdf"},
		{"a PDF", convert.HTML, "%PDF-1.7\n", "convert it as pdf"},
		{"json", convert.JSON, "{\"a\":1,\n\"b\":x}", "line 2: not JSON: invalid character 'x'"},
		{"json", convert.JSON, "{\"a\":1}\n{\"b\":1\n", "line 2: not JSON"},
		{"json", convert.JSON, "{\"a\":1", "line 1: not JSON: unexpected end"},
		{"json", convert.JSON, strings.Repeat("[", 20_000), "not JSON"},
		{"json", convert.JSON, " ", "not JSON"},
		{"html", convert.HTML, strings.Repeat("<div>", 10_000) + "x", "512"},
		{"html", convert.HTML, strings.Repeat("<div>", 400) + strings.Repeat("</p>", 1<<17), "nested too deeply for its size"},
		{"html", convert.HTML, "<base href=http://x/" + strings.Repeat("y", 1900) + "/>" + strings.Repeat("<a href=x>x</a>", 1<<16), "more memory than one conversion may use: 75 MiB"},
		{"html", convert.HTML, "<script>x</script>", "no text"},
		{"html", convert.HTML, "\x00\x01\x00", "binary"},
		{"pdf", convert.PDF, "# A", "not a PDF"},
		{"pdf", convert.PDF, "%PDF-1.7\n", "damaged"},
	}
	for _, tt := range tests {
		doc, err := convert.Convert(t.Context(), tt.kind, "notes/x", []byte(tt.data))
		if !errors.Is(err, convert.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "notes/x") {
			t.Errorf("%s as %s: %+v, error %v, want %q", tt.name, tt.kind, doc, err, tt.want)
		}
	}
	if _, err := convert.Convert(t.Context(), "docx", "x", []byte("x")); !errors.Is(err, convert.ErrKind) {
		t.Errorf("error %v", err)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, data := range map[convert.Kind]string{
		convert.Markdown: "x", convert.Text: "x", convert.JSON: "[1]", convert.HTML: "<p>x", convert.PDF: "%PDF-1.7",
	} {
		if doc, err := convert.Convert(ctx, kind, "x", []byte(data)); !errors.Is(err, context.Canceled) || errors.Is(err, convert.ErrInvalid) {
			t.Errorf("%s: %+v, error %v", kind, doc, err)
		}
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		kind                    convert.Kind
		contentType, data, want string
	}{
		{convert.Text, "", "\xe9", "\xe9"},
		{convert.Text, "text/plain", "\xe9", "\xe9"},
		{convert.Text, "text/plain; charset=utf-8", "é", "é"},
		{convert.Text, "text/plain; charset=ISO-8859-1", "\xe9", "\ufeffé"},
		{convert.HTML, "text/html; charset=\"shift_jis\"", "\x93\xfa", "\ufeff日"},
		{convert.HTML, "text/html; charset=utf8", "é", "\ufeffé"},
		{convert.HTML, "text/html; charset=utf8", "\ufeffé", "\ufeffé"},
		{convert.Text, "text/plain; charset=latin1", "\ufeffé", "\ufeffé"},
		{convert.Text, "text/plain; charset=", "é", "é"},
		{convert.PDF, "application/pdf; charset=binary", "\xe9", "\xe9"},
		{convert.PDF, "application/pdf;charset=ISO-8859-1", "\xe9", "\xe9"},
	}
	for _, tt := range tests {
		got, err := convert.Decode(tt.kind, tt.contentType, []byte(tt.data))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.contentType, got, err, tt.want)
		}
	}
	if _, err := convert.Decode(convert.Text, "text/plain; charset=klingon", []byte("x")); !errors.Is(err, convert.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	// What is decoded overrides the declaration of a page.
	for label, page := range map[string]string{
		"windows-1251": "<meta charset=shift_jis><p>\xc6", "utf-8": "<meta charset=windows-1251><p>Ж",
	} {
		data, err := convert.Decode(convert.HTML, "text/html; charset="+label, []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if doc, err := convert.Convert(t.Context(), convert.HTML, "x", data); err != nil || doc.Markdown != "Ж\n" {
			t.Errorf("%s: %q, %v", label, doc.Markdown, err)
		}
	}
}

func TestTitleIsOneLine(t *testing.T) {
	for given, want := range map[string]string{
		" a\n\tb\u0000\u0085 c\u200b ": "a b c\u200b",
		"\x1b[31mred":                  "[31mred",
		strings.Repeat("é", 600):       strings.Repeat("é", protocol.MaxDocumentTitle),
		strings.Repeat("word ", 200):   strings.TrimSpace(strings.Repeat("word ", 102)),
		strings.Repeat("a", 1<<20):     strings.Repeat("a", protocol.MaxDocumentTitle),
	} {
		doc, err := convert.Convert(t.Context(), convert.HTML, "x", []byte("<title>"+given+"</title>x"))
		if err != nil || doc.Title != want || utf8.RuneCountInString(doc.Title) > protocol.MaxDocumentTitle {
			t.Errorf("%.40q: %q, %v", given, doc.Title, err)
		}
	}
}

// The main text is found, and what is around it is not part of it.
func TestPage(t *testing.T) {
	paragraph := "<p>The clock above the harbour office struck again on Tuesday, shortly after noon, after eleven years.</p>"
	text := strings.Repeat(paragraph, 4)
	frame := `<nav>NAV</nav><div class="site-footer">FOOT</div><div id="cookie-consent">COOKIE</div><aside>ASIDE</aside>`
	for name, page := range map[string]string{
		"main":       frame + "<main>" + text + "</main><div>REST</div>",
		"article":    frame + "<div><article>" + text + "</article></div><div>REST</div>",
		"inside":     "<main>" + frame + text + "</main>",
		"role":       frame + "<div role=main>" + text + "<div role=complementary>ASIDE</div></div>",
		"paragraphs": frame + "<div class=wrap><div>" + text + "</div></div><div><a href=/a>REST</a> <a href=/b>REST</a></div>",
		"sections":   frame + "<div>" + "<div>" + paragraph + paragraph + "</div><div>" + paragraph + paragraph + "</div></div>",
		"no main":    text,
		// A name of the frame is not believed of most of the text, nor of a section that is named by its heading.
		"share":   frame + `<article><div id="share-buttons-1">` + text + `</div></article>`,
		"heading": frame + "<main>" + paragraph + paragraph + paragraph + `<div id="sharing-with-several-towns">` + paragraph + "</div></main>",
	} {
		doc, err := convert.Page(t.Context(), nil, []byte(page))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(doc.Markdown, "struck again"); n != 4 || strings.ContainsAny(doc.Markdown, "NAVFOKIEDR") {
			t.Errorf("%s:\n%s", name, doc.Markdown)
		}
	}
	// Short pages are kept as they are.
	doc, err := convert.Page(t.Context(), nil, []byte("<nav>Home</nav><p>Closed."))
	if err != nil || doc.Markdown != "Home\n\nClosed.\n" {
		t.Errorf("%q, %v", doc.Markdown, err)
	}
}

func TestLinks(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "example.org", Path: "/a/b"}
	for href, want := range map[string]string{
		"c?d=e#f":                    "[x](https://example.org/a/c?d=e#f)",
		"//other.example/p":          "[x](https://other.example/p)",
		"http://example.org/a b)<c>": "[x](http://example.org/a%20b%29%3Cc%3E)",
		"mailto:a@example.org":       "[x](mailto:a@example.org)",
		" https://example.org/\n":    "[x](https://example.org/)",
		"javascript:alert(1)":        "x",
		"JaVaScRiPt:alert(1)":        "x",
		"data:text/html,x":           "x",
		"file:///etc/passwd":         "x",
		"ftp://example.org/":         "x",
		"#part":                      "x",
		"":                           "x",
		"http://[bad":                "x",
		"https://example.org/" + strings.Repeat("y", 3000): "x",
	} {
		doc, err := convert.Page(t.Context(), base, []byte(`<p>a <a href="`+href+`">x</a>`))
		if err != nil || doc.Markdown != "a "+want+"\n" {
			t.Errorf("%.60q: %q, %v; want %q", href, doc.Markdown, err, want)
		}
	}
	doc, err := convert.Page(t.Context(), base, []byte(`<base href="/z/"><p><a href="y">x</a>`))
	if err != nil || doc.Markdown != "[x](https://example.org/z/y)\n" {
		t.Errorf("%q, %v", doc.Markdown, err)
	}
	doc, err = convert.Convert(t.Context(), convert.HTML, "x", []byte(`<p><a href="y">x</a> <a href="https://e.org/">z</a>`))
	if err != nil || doc.Markdown != "x [z](https://e.org/)\n" {
		t.Errorf("%q, %v", doc.Markdown, err)
	}
}

// Pages that are made to be slow or large end with a bounded result or an error.
func TestHostileHTML(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rep := strings.Repeat
	const size = 1 << 18
	for name, page := range map[string]string{
		"divs":          rep("<div>", size/5),
		"deep":          rep(rep("<div>", 500)+"x"+rep("</div>", 500), size/5500),
		"bold":          rep("<p><b>x", size/7),
		"quotes":        rep("<blockquote>", 400) + rep("<p>x</p>", size/8),
		"lists":         rep("<ul><li>", 200) + rep("<p>x</p>", size/8),
		"tables":        rep("<table>", size/7),
		"nested tables": rep("<table><tr><td>", 120) + rep("<p>x</p>", size/8),
		"cells":         "<table><tr>" + rep("<td>x", size/5) + "<tr><td>y",
		"spans":         "<table>" + rep("<tr><td colspan=1000000>x<td>y", size/31),
		"columns":       "<table>" + rep("<tr><td colspan=64>", size/19),
		"attributes":    "<div " + rep("a1 ", size/3) + ">x",
		"comments":      rep("<!--", size/4),
		"end tags":      rep("<div>", 400) + rep("</p>", size/4),
		"marks":         "<p>" + rep("*_[", size/3),
		"links":         "<base href=http://x/" + rep("y", 1900) + "/>" + rep("<a href=x>x</a>", size/15),
		"entities":      rep("&#x26;&lt;", size/10),
		"less than":     rep("<", size),
		"pre":           "<pre>" + rep("`", size),
		"template":      rep("<template>", 400) + rep("<p>x", size/4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, main := range []bool{false, true} {
				var doc convert.Document
				var err error
				if main {
					doc, err = convert.Page(t.Context(), nil, []byte(page))
				} else {
					doc, err = convert.Convert(t.Context(), convert.HTML, "x", []byte(page))
				}
				if err != nil && !errors.Is(err, convert.ErrInvalid) {
					t.Error(err)
				}
				if len(doc.Markdown) > 64<<20 {
					t.Errorf("%d bytes", len(doc.Markdown))
				}
			}
		})
	}
}

func TestPDF(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("pdf", "testdata", "columns.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Convert(t.Context(), convert.PDF, "columns.pdf", data)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/columns.golden.md", doc)
}

// Conversions share nothing that changes. The race detector reports it if they do.
func TestConcurrent(t *testing.T) {
	for kind, file := range map[convert.Kind]string{
		convert.PDF: "pdf/testdata/columns.pdf", convert.HTML: "testdata/html/article.html", convert.Text: "testdata/html/manual.html",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				if _, err := convert.Convert(t.Context(), kind, file, data); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
