package convert

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// formula writes an element of MathML on one line. Signs say what the places of its parts say:
// 10 to the power of 6 is not 106. If the page has the formula in TeX too, the TeX is written.
func (w *htmlWriter) formula(n *html.Node) {
	switch n.Data {
	case "semantics":
		if tex := texOf(n); tex != "" {
			w.inline.text(tex)
			return
		}
		w.formulaRow(n)
	case "annotation", "annotation-xml": // the formula again
	case "mphantom": // a gap of its size
	case "msup", "mover":
		w.scripts(n, "^")
	case "msub", "munder":
		w.scripts(n, "_")
	case "msubsup", "munderover":
		w.scripts(n, "_", "^")
	case "mfrac":
		w.fraction(n)
	case "msqrt":
		w.inline.raw("√")
		w.group(n, w.formulaRow)
	case "mroot":
		w.root(n)
	case "mtd", "mspace":
		w.formulaRow(n)
		w.inline.space = true
	case "mi", "mn", "mo", "ms", "mtext":
		w.children(n)
	default:
		w.formulaRow(n)
	}
}

// texOf returns the TeX that KaTeX, pandoc and others add to a formula, "" if there is none.
func texOf(semantics *html.Node) string {
	for c := semantics.FirstChild; c != nil; c = c.NextSibling {
		if c.Data == "annotation" && strings.HasSuffix(strings.ToLower(attribute(c, "encoding")), "tex") {
			return strings.TrimSpace(textOf(c))
		}
	}
	return ""
}

// formulaRow writes the parts of an element side by side, without white space at its ends.
func (w *htmlWriter) formulaRow(n *html.Node) {
	for c := n.FirstChild; c != nil && w.err == nil; c = c.NextSibling {
		if isPart(c) || c.PrevSibling != nil && c.NextSibling != nil {
			w.node(c)
		}
	}
}

// isPart reports whether a child of an element of MathML is more than white space or a comment.
func isPart(n *html.Node) bool {
	return n.Type == html.ElementNode || n.Type == html.TextNode && strings.TrimSpace(n.Data) != ""
}

func partsOf(n *html.Node) []*html.Node {
	var parts []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if isPart(c) {
			parts = append(parts, c)
		}
	}
	return parts
}

// scripts writes a base and the scripts below or above it, each after its sign.
func (w *htmlWriter) scripts(n *html.Node, signs ...string) {
	for i, c := range partsOf(n) {
		if i == 0 {
			before := len(w.inline.b)
			w.node(c)
			w.inline.space = w.inline.space && len(w.inline.b) == before
			continue
		}
		text, single := onlyText(c)
		first, _ := utf8.DecodeRuneInString(text)
		if i <= len(signs) && (!single || beginsScript(first)) {
			w.sign(signs[i-1])
		}
		w.group(c, w.node)
		w.inline.space = false
	}
}

// sign writes the sign of a script, escaped where it could begin emphasis.
func (w *htmlWriter) sign(sign string) {
	last, _ := utf8.DecodeLastRune(w.inline.b)
	if sign == "_" && (w.inline.space || !isLetter(last)) {
		sign = `\_`
	}
	w.inline.raw(sign)
}

// fraction writes a fraction, or a binomial coefficient, which has no line.
func (w *htmlWriter) fraction(n *html.Node) {
	sign := "/"
	switch attribute(n, "linethickness") {
	case "0", "0px", "0pt", "0em":
		sign = " "
	}
	// One and a half is not 11/2.
	if last, _ := utf8.DecodeLastRune(w.inline.b); unicode.IsDigit(last) {
		w.inline.space = true
	}
	for i, c := range partsOf(n) {
		if i > 0 {
			w.inline.space = false
			w.inline.raw(sign)
		}
		w.group(c, w.node)
	}
}

// root writes a root with its degree as a power.
func (w *htmlWriter) root(n *html.Node) {
	for i, c := range partsOf(n) {
		if i == 0 {
			w.group(c, w.node)
			continue
		}
		w.inline.space = false
		w.inline.raw("^(1/")
		w.group(c, w.node)
		w.inline.space = false
		w.inline.raw(")")
	}
}

// group writes a part of a formula, in parentheses unless it is one number, name or sign.
func (w *htmlWriter) group(n *html.Node, write func(*html.Node)) {
	if _, single := onlyText(n); single {
		write(n)
		return
	}
	w.inline.raw("(")
	write(n)
	w.inline.space = false
	w.inline.raw(")")
}

// onlyText returns the text of a part of a formula that is one number, name or sign, or is
// empty. Otherwise, or if the text is in many nested elements, single is false.
func onlyText(n *html.Node) (text string, single bool) {
	const deepest = 8
	for level := 0; n.Type == html.ElementNode; level++ {
		if level == deepest {
			return "", false
		}
		var only *html.Node
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case !isPart(c):
			case only != nil:
				return "", false
			default:
				only = c
			}
		}
		if only == nil {
			return "", true
		}
		n = only
	}
	return strings.TrimSpace(n.Data), true
}
