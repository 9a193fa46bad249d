package convert_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"evalctl/daemon/convert"
)

// TestHTMLElements: what survives of each element of the HTML standard's sections on grouping content
// (4.4), text-level semantics (4.5), edits (4.7) and tabular data (4.9).
func TestHTMLElements(t *testing.T) {
	for _, c := range []struct{ elements, page, want string }{
		// 4.4
		{"p", "<p>One.<p>Two.", "One.\n\nTwo.\n"},
		{"hr", "<p>One.<hr><p>Two.", "One.\n\n* * *\n\nTwo.\n"},
		{"pre", "<pre>a  b\n c</pre>", "```\na  b\n c\n```\n"},
		{"blockquote", "<blockquote><p>Said.</blockquote>", "> Said.\n"},
		{"ol li", "<ol><li>A<li>B</ol>", "1. A\n2. B\n"},
		{"ol start", "<ol start=5><li>A<li>B</ol>", "5. A\n6. B\n"},
		{"ol reversed", "<ol reversed><li>A<li>B<li>C</ol>", "3. A\n2. B\n1. C\n"},
		{"li value", "<ol><li>A<li value=7>B<li>C</ol>", "1. A\n7. B\n8. C\n"},
		{"ol type", "<ol type=a><li>A<li>B</ol><p>x<ol type=I start=4><li>C</ol>", "- a. A\n- b. B\n\nx\n\n- IV. C\n"},
		{"ul", "<ul><li>A<ul><li>B</ul></ul>", "- A\n  - B\n"},
		{"menu", "<menu><li>A<li>B</menu>", "- A\n- B\n"},
		{"dl dt dd", "<dl><dt>Tide<dd>Water that rises<dt>Ebb<dd>Water that falls</dl>", "Tide\n\nWater that rises\n\nEbb\n\nWater that falls\n"},
		{"figure figcaption", "<figure><img alt='A boat' src=x><figcaption>In May</figcaption></figure>", "A boat\n\nIn May\n"},
		{"main search div address", "<main><div>A</div><address>Pier 1</address></main><search>B</search>", "A\n\nPier 1\n\nB\n"},
		{"task list", "<ul><li><input type=checkbox checked> Done<li><input type=checkbox> Open</ul>", "- [x] Done\n- [ ] Open\n"},
		// 4.5
		{"a", "<p>See <a href='https://example.org/x'>the page</a>.", "See [the page](https://example.org/x).\n"},
		{"em strong", "<p><em>A</em> and <strong>B</strong>", "*A* and **B**\n"},
		{"small", "<p>A <small>B</small>", "A B\n"},
		{"s", "<p>Was <s>5 €</s> 4 €", "Was ~~5 €~~ 4 €\n"},
		{"cite", "<p><cite>Dune</cite>", "*Dune*\n"},
		{"q", "<p>He: <q>She: <q>no</q>.</q>", "He: “She: ‘no’.”\n"},
		{"dfn", "<p>A <dfn>tide</dfn> is", "A *tide* is\n"},
		{"abbr", "<p><abbr title='World Health Organization'>WHO</abbr>, <abbr title='World Health Organization'>WHO</abbr>", "WHO (World Health Organization), WHO\n"},
		{"ruby rt rp", "<p><ruby>漢<rp>[</rp><rt>かん</rt><rp>]</rp></ruby>字", "漢(かん)字\n"},
		{"data", "<p><data value=8>eight</data>", "eight\n"},
		{"time", "<p>On <time datetime='2024-05-08T10:00'>Wednesday</time>, <time datetime='2024-05-08'>8 May 2024</time>", "On Wednesday (2024-05-08), 8 May 2024\n"},
		{"code var samp kbd", "<p><code>a</code> <var>x</var> <samp>b</samp> <kbd>C</kbd>", "`a` *x* `b` `C`\n"},
		{"sub", "<p>H<sub>2</sub>O, 101<sub>2</sub>, x<sub>i</sub>, log<sub>10</sub>", "H2O, 101_2, x_i, log10\n"},
		{"sup", "<p>10<sup>6</sup> m<sup>2</sup> x<sup>n</sup> 10<sup>-3</sup> 1<sup>st</sup> M<sup>me</sup> 1<sup>o</sup>", "10^6 m^2 x^n 10^-3 1st Mme 1o\n"},
		{"sup with a note", "<p>In 2024<sup><a href='#n1'>1</a></sup> and 2025<sup><a href='#n2'>[2]</a></sup>", "In 2024\\[1] and 2025[2\\]\n"},
		{"i b u mark", "<p><i>A</i> <b>B</b> <u>C</u> <mark>D</mark>", "*A* **B** C D\n"},
		{"bdi bdo span", "<p><bdi>A</bdi> <bdo dir=rtl>B</bdo> <span>C</span>", "A B C\n"},
		{"br wbr", "<p>A<br>B super<wbr>market", "A  \nB supermarket\n"},
		{"button of a heading", "<h2><button>How do I <b>cancel</b>?</button></h2><p>Call us. <button>Call</button>", "## How do I **cancel**?\n\nCall us.\n"},
		{"button of dt and summary", "<dl><dt><button>Tide</button><dd>Rises</dl><details><summary><button>More</button></summary>Less</details>", "Tide\n\nRises\n\nMore\n\nLess\n"},
		{"button of th", "<table><tr><th><button>A</button><th>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |\n"},
		// 4.7
		{"ins del", "<p>Old <del>5</del> <ins>6</ins>", "Old ~~5~~ 6\n"},
		// 4.9
		{"table tr th td", "<table><tr><th>A<th>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |\n"},
		{"caption thead tbody tfoot", "<table><caption>T</caption><thead><tr><th>A<th>B<tbody><tr><td>1<td>2<tfoot><tr><td>3<td>4</table>", "T\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"},
		{"colgroup col", "<table><colgroup><col><col span=2></colgroup><tr><th>A<th>B<tr><td>1<td>2</table>", "| A | B |\n| --- | --- |\n| 1 | 2 |\n"},
		{"colspan", "<table><tr><th>A<th>B<th>C<tr><td colspan=2>1<td>2</table>", "| A | B | C |\n| --- | --- | --- |\n| 1 | | 2 |\n"},
		{"rowspan", "<table><tr><th>Pier<th>Boat<th>Places<tr><td rowspan=2>North<td>Gull<td>6<tr><td>Tern<td>4</table>", "| Pier | Boat | Places |\n| --- | --- | --- |\n| North | Gull | 6 |\n| North | Tern | 4 |\n"},
		{"rowspan at the end", "<table><tr><td>A<td>B<td rowspan=3>C<tr><td>D<tr><td>E<td>F</table>", "| A | B | C |\n| --- | --- | --- |\n| D | | C |\n| E | F | C |\n"},
		{"rowspan and colspan", "<table><tr><td rowspan=2 colspan=2>A<td>B<tr><td>C<tr><td>D<td>E<td>F</table>", "| A | | B |\n| --- | --- | --- |\n| A | | C |\n| D | E | F |\n"},
		{"rowspan 0, to the end of the group", "<table><tbody><tr><td rowspan=0>A<td>B<tr><td>C<tbody><tr><td>D<td>E</table>", "| A | B |\n| --- | --- |\n| A | C |\n| D | E |\n"},
		{"rowspan beyond the group", "<table><tbody><tr><td rowspan=9>A<td>B<tbody><tr><td>D<td>E</table>", "| A | B |\n| --- | --- |\n| D | E |\n"},
	} {
		doc, err := convert.Convert(t.Context(), convert.HTML, "page", []byte("<!doctype html><body>"+c.page))
		if err != nil || doc.Markdown != c.want {
			t.Errorf("%s: %s\nbecomes %q (%v)\nwant    %q", c.elements, c.page, doc.Markdown, err, c.want)
		}
	}
}

// TestFormulas has formulas in MathML, whose numbers must not become others.
func TestFormulas(t *testing.T) {
	const power = "<msup><mn>10</mn><mn>6</mn></msup>"
	const half = "<mfrac><mn>1</mn><mn>2</mn></mfrac>"
	for _, c := range []struct{ name, math, want string }{
		{"KaTeX", "<semantics><mrow>" + power + "</mrow><annotation encoding='application/x-tex'>10^6</annotation></semantics>", "10^6"},
		{"TeX of several words", "<semantics><mi>x</mi><annotation encoding=LaTeX> \\frac{1}{2}\n x </annotation></semantics>", "\\frac{1}{2} x"},
		{"other annotations", "<semantics>" + power + "<annotation-xml encoding=MathML-Content><cn>1000000</cn></annotation-xml>" +
			"<annotation encoding=text/plain>a million</annotation></semantics>", "10^6"},
		{"msup", power, "10^6"},
		{"msup of several parts", "<msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup><mo>+</mo><mn>1</mn>", "e^(−x)+1"},
		{"msup on lines", "\n<mrow>\n <mi>a</mi>\n <mo>=</mo>\n <msup>\n <mrow>\n <mn>10</mn>\n </mrow>\n <mrow>\n <mn>6</mn>\n </mrow>\n </msup>\n</mrow>\n", "a = 10^6"},
		{"msup of a sign", "<msup><mn>90</mn><mo>∘</mo></msup><msup><mi>f</mi><mo>′</mo></msup><msup><mi>Na</mi><mo>+</mo></msup>", "90∘f′Na^+"},
		{"msup without a base", "<mo>=</mo> <msup><mrow></mrow><mn>14</mn></msup><mi>C</mi>", "= ^14C"},
		{"text for an element", "<msup>x<mn>2</mn></msup>", "x^2"},
		{"msub", "<msub><mi>x</mi><mn>1</mn></msub><msub><mo>∑</mo><mi>i</mi></msub>", `x_1∑\_i`},
		{"msubsup", "<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"},
		{"munderover", "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>", `∑\_(i=1)^n`},
		{"mover", "<mover><mi>x</mi><mo>¯</mo></mover>", "x¯"},
		{"mfrac", "<mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "1 1/2"},
		{"mfrac of several parts", "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msup><mi>c</mi><mn>2</mn></msup></mfrac>", "(a+b)/(c^2)"},
		{"binomial coefficient", "<mo>(</mo><mfrac linethickness=0><mn>4</mn><mn>2</mn></mfrac><mo>)</mo>", "(4 2)"},
		{"msqrt", "<msqrt><mn>2</mn></msqrt><mo>+</mo><msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√2+√(x+1)"},
		{"mroot", "<mroot><mn>8</mn><mn>3</mn></mroot>", "8^(1/3)"},
		{"power of a fraction", "<msup>" + half + "<mn>2</mn></msup>", "(1/2)^2"},
		{"power of a row with a fraction", "<msup><mrow> <mstyle>" + half + "</mstyle> </mrow><mn>2</mn></msup>", "(1/2)^2"},
		{"power of a root", "<msup><msqrt><mn>2</mn></msqrt><mn>2</mn></msup><mo>=</mo><msup><mroot><mn>8</mn><mn>3</mn></mroot><mn>1</mn></msup>", "(√2)^2=(8^(1/3))^1"},
		{"power of a power", "<msup><msup><mi>x</mi><mn>2</mn></msup><mn>3</mn></msup>", "(x^2)^3"},
		{"power of an index", "<msup><msub><mi>x</mi><mn>1</mn></msub><mn>2</mn></msup>", "(x_1)^2"},
		{"power of an accent", "<msup><mover><mi>x</mi><mo>¯</mo></mover><mn>2</mn></msup>", "x¯^2"},
		{"number after a fraction", half + "<mn>3</mn><mo>+</mo>" + half + "<mi>x</mi>", "1/2 3+1/2x"},
		{"number after a power", power + "<mrow>" + power + "</mrow>", "10^6 10^6"},
		{"number after a root", "<msqrt><mn>2</mn></msqrt><mn>3</mn>", "√2 3"},
		{"mfenced", "<msup><mfenced><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfenced><mn>2</mn></msup>", "(a+b)^2"},
		{"mfenced arguments", "<mi>f</mi><mfenced>\n <mi>x</mi>\n <mi>y</mi>\n</mfenced>", "f(x,y)"},
		{"mfenced with other signs", "<mfenced open='[' close=' ) ' separators='; ,'><mn>1</mn><mn>2</mn><mn>3</mn><mn>4</mn></mfenced>", "[1;2,3,4)"},
		{"mfenced without signs", "<mfenced open='{' close='' separators=''><mi>a</mi><mi>b</mi></mfenced>", "{ab"},
		{"mfenced in a fraction", "<mfrac><mfenced><mi>a</mi><mi>b</mi></mfenced><mfenced open='' close=''><mi>a</mi><mi>b</mi></mfenced></mfrac>", "(a,b)/(a,b)"},
		{"mmultiscripts", "<mmultiscripts><mi>U</mi><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>", `\_92^238U`},
		{"mmultiscripts after a number", "<mn>2</mn><mmultiscripts><mi>O</mi><none/><mrow><mn>2</mn><mo>−</mo></mrow><mprescripts/><none/><mn>16</mn></mmultiscripts>", "2 ^16O^(2−)"},
		{"mmultiscripts of a tensor", "<mmultiscripts><mi>R</mi><mi>i</mi><none/><none/><mi>j</mi></mmultiscripts>", "R_i^j"},
		{"mtable", "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable>", "1 0 0 1"},
		{"mphantom", "<mn>1</mn><mphantom><mn>0</mn></mphantom>", "1"},
		{"HTML in a formula", "<mi>x</mi><mtext> if <a href='https://example.org/'>so</a></mtext>", "x if [so](https://example.org/)"},
	} {
		doc, err := convert.Convert(t.Context(), convert.HTML, "page", []byte("<p>Is <math>"+c.math+"</math> it?"))
		if want := "Is " + c.want + " it?\n"; err != nil || doc.Markdown != want {
			t.Errorf("%s: %q (%v), want %q", c.name, doc.Markdown, err, want)
		}
	}
}

// TestHTMLEncodings: the encoding of a page is determined as section 13.2.3 of the HTML standard says.
func TestHTMLEncodings(t *testing.T) {
	const word = "Лодка"
	long := strings.Repeat("x", 1500)
	xml := func(label string) string {
		return `<?xml version="1.0" encoding="` + label + `"?><html><body><p>` + word
	}
	meta := func(label string) string { return `<meta charset="` + label + `"><p>` + word }
	utf16le := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16be := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	for _, c := range []struct {
		name, page string
		in         encoding.Encoding
	}{
		{"a byte order mark of UTF-8 before a meta element", "\ufeff" + meta("windows-1251"), encoding.Nop},
		{"a byte order mark of UTF-16", "\ufeff" + meta("utf-8"), utf16le},
		{"a byte order mark of UTF-16, big end", "\ufeff" + meta("utf-8"), utf16be},
		{"UTF-16 that an XML declaration shows", xml("utf-16"), utf16le},
		{"UTF-16 that an XML declaration shows, big end", xml("utf-16"), utf16be},
		{"meta charset", meta("windows-1251"), charmap.Windows1251},
		{"meta charset in quotes of one", "<meta charset='koi8-r'><p>" + word, charmap.KOI8R},
		{"meta http-equiv", `<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-5"><p>` + word, charmap.ISO8859_5},
		{"meta that says UTF-16 in bytes", meta("utf-16"), encoding.Nop},
		{"an XML declaration", xml("windows-1251"), charmap.Windows1251},
		{"an XML declaration in other quotes", `<?xml version='1.0' encoding = 'KOI8-R' ?><p>` + word, charmap.KOI8R},
		{"an XML declaration that says UTF-16 in bytes", xml("UTF-16"), encoding.Nop},
		{"meta before an XML declaration", `<?xml version="1.0" encoding="koi8-r"?>` + meta("windows-1251"), charmap.Windows1251},
		{"ISO-2022-JP, whose bytes are ASCII", `<meta charset="iso-2022-jp"><p>` + word, japanese.ISO2022JP},
		{"an unknown label", xml("martian"), encoding.Nop},
		{"nothing but UTF-8", "<p>" + word, encoding.Nop},
		{"meta after a long comment", "<!-- " + long + "-->" + meta("windows-1251"), charmap.Windows1251},
		{"meta after another one and a long script", "<meta name=author content='" + word + "'><script>'<meta charset=koi8-r>'" + long + "</script>" + meta("windows-1251"), charmap.Windows1251},
		{"the first meta with a charset", "<script>" + long + "</script><meta http-equiv=Content-Type content='text/html; charset=koi8-r'>" + meta("windows-1251"), charmap.KOI8R},
		{"meta after others that mention a charset", "<script>" + long + "</script><meta name=description content='charset=koi8-r?'>" +
			"<meta http-equiv=refresh content='9; url=/?charset=koi8-r'>" + meta("windows-1251"), charmap.Windows1251},
		{"meta after a long comment, but UTF-8", "<!--" + long + "-->" + meta("windows-1251"), encoding.Nop},
	} {
		data, err := c.in.NewEncoder().String(c.page)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := convert.Convert(t.Context(), convert.HTML, "page", []byte(data))
		if err != nil || strings.TrimSpace(doc.Markdown) != word {
			t.Errorf("%s: %q, %v", c.name, doc.Markdown, err)
		}
	}
	data, err := japanese.ShiftJIS.NewEncoder().String(`<?xml version="1.0" encoding="shift_jis"?><p>舟は港`)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := convert.Convert(t.Context(), convert.HTML, "page", []byte(data)); err != nil || doc.Markdown != "舟は港\n" {
		t.Errorf("Shift JIS: %q, %v", doc.Markdown, err)
	}
	doc, err := convert.Convert(t.Context(), convert.HTML, "page", []byte("<p>caf\xe9 \x80"))
	if err != nil || doc.Markdown != "café €\n" {
		t.Errorf("windows-1252 where nothing is declared: %q, %v", doc.Markdown, err)
	}
}

// All articles of a page are its main text, but for teasers of other pages.
func TestSeveralArticles(t *testing.T) {
	long := strings.Repeat("The net has a hole, as wide as a hand, and two lines are cut. ", 6)
	page := "<!doctype html><title>Nets</title><nav>Home</nav><h1>Nets</h1>" +
		"<article><h2>Question</h2><p>" + long + "</article>" +
		"<article><h2>Answer</h2><p>Cut the hole to a clean shape first. " + long + "</article>" +
		"<article><p>A flat stick keeps all new meshes the same size.</article>" +
		"<article><h3><a href='/other'>Ropes</a></h3><p>How ropes are made, and from what they are made.</article>" +
		"<footer>2024</footer>"
	doc, err := convert.Page(t.Context(), nil, []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"Question": true, "clean shape": true, "flat stick": true, "ropes are made": false, "Home": false} {
		if strings.Contains(doc.Markdown, text) != want {
			t.Errorf("%q is kept: %t, want %t, in\n%s", text, !want, want, doc.Markdown)
		}
	}
}

// TestNestedFrames has parts of a frame within each other, whose text would be the main text of
// the page if it were not in them.
func TestNestedFrames(t *testing.T) {
	text := "<p>" + strings.Repeat("The clock stood still. ", 20)
	lists := "<p>" + strings.Repeat("Home, News, ", 34)
	for _, open := range []string{"<div class=nav><div>", "<form><div></form>", "<div class=nav><aside>"} {
		page := "<div>" + text + "</div>" + strings.Repeat(open, 40) + lists
		doc, err := convert.Page(t.Context(), nil, []byte(page))
		if err != nil || !strings.HasPrefix(doc.Markdown, "The clock") || strings.Contains(doc.Markdown, "News") {
			t.Errorf("%s: %.50q, %v", open, doc.Markdown, err)
		}
	}
}

// TestForms: a form around a page is not a part of its frame, as one beside the text is.
func TestForms(t *testing.T) {
	text := "<div>" + strings.Repeat("<p>The harbour clock stood still, and nobody knew why.", 6) + "</div>"
	notice := "<div class=notice>" + strings.Repeat("The office is closed on Monday. ", 8) + "</div>"
	links := "<nav>" + strings.Repeat("<a href=/more>More about the town</a> ", 40) + "</nav>"
	for page, want := range map[string]bool{
		notice + "<form id=aspnetForm><h1>Guide</h1><main>%s</main></form>": true,
		notice + "<form><h1>Guide</h1>%s</form>":                            true,
		notice + "<form>" + links + "%s</form>":                             true,
		notice + notice + "<form>%s</form>":                                 false,
		notice + "<form role=search><h1>Guide</h1>%s</form>":                false,
	} {
		doc, err := convert.Page(t.Context(), nil, []byte("<body>"+strings.ReplaceAll(page, "%s", text)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(doc.Markdown, "nobody knew why"); got != want {
			t.Errorf("%.300s: %t, want %t", page, got, want)
		}
		if strings.Contains(doc.Markdown, "about the town") {
			t.Errorf("%.300s: links are kept", page)
		}
	}
}

// TestNamesOfMainText has blocks named like a part of the frame. The main element may not be in one
// (HTML standard, 4.4.14), and a heading of the first level is of the page.
func TestNamesOfMainText(t *testing.T) {
	text := strings.Repeat("The harbour clock stood still, and nobody knew why. ", 6)
	frame := "<div class=list>" + strings.Repeat("<p>An older story, also of the harbour, with its date.</p>", 12) + "</div>"
	for block, want := range map[string]bool{
		"<div class=content-sidebar-wrap><main><p>%s</p></main></div>":                      true,
		"<div class='layout right-sidebar'><h1>The clock</h1><p>%s</p></div>":               true,
		"<div class='layout right-sidebar'><div itemprop=articleBody><p>%s</p></div></div>": true,
		"<div class='sidebar'><h2>The clock</h2><p>%s</p></div>":                            false,
		"<div class='sidebar'><h1 hidden>The clock</h1><p>%s</p></div>":                     false,
		"<aside><h1>The clock</h1><p>%s</p></aside>":                                        false,
	} {
		page := "<body>" + strings.ReplaceAll(block, "%s", text) + frame
		doc, err := convert.Page(t.Context(), nil, []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(doc.Markdown, "nobody knew why"); got != want {
			t.Errorf("%s: %t, want %t", block, got, want)
		}
	}
}
