package convert

import (
	"slices"
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
	case "msup", "mover", "msub", "munder", "msubsup", "munderover", "mmultiscripts", "mfrac", "msqrt", "mroot":
		w.layout(n)
		w.inline.formed = len(w.inline.b)
	case "mfenced":
		w.fenced(n)
	case "mtd", "mspace":
		w.formulaRow(n)
		w.inline.space = true
	case "mn":
		// 10^6 5 is not 10^65.
		if w.inline.formed == len(w.inline.b) {
			w.apart()
		}
		w.children(n)
	case "mi", "mo", "ms", "mtext":
		w.children(n)
	default:
		w.formulaRow(n)
	}
}

// layout writes an element whose parts have places: a fraction, a root, or a base with scripts.
func (w *htmlWriter) layout(n *html.Node) {
	switch n.Data {
	case "msup", "mover":
		w.scripts(n, "^")
	case "msub", "munder":
		w.scripts(n, "_")
	case "msubsup", "munderover":
		w.scripts(n, "_", "^")
	case "mmultiscripts":
		w.multiscripts(n)
	case "mfrac":
		w.fraction(n)
	case "msqrt":
		w.inline.raw("√")
		w.group(n, w.formulaRow)
	case "mroot":
		w.root(n)
	}
}

// apart separates a number from a digit before it.
func (w *htmlWriter) apart() {
	if last, _ := utf8.DecodeLastRune(w.inline.b); unicode.IsDigit(last) {
		w.inline.space = true
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
		switch {
		case i == 0:
			w.scriptBase(c)
		case i <= len(signs):
			w.scriptPart(c, signs[i-1])
		default:
			w.scriptPart(c, "")
		}
	}
}

// multiscripts writes an element that has any number of scripts below and above in turn, first
// those after its base and then those before it: an isotope, or a tensor.
func (w *htmlWriter) multiscripts(n *html.Node) {
	signs := []string{"_", "^"}
	parts := partsOf(n)
	if len(parts) == 0 {
		return
	}
	base, after, before := parts[0], parts[1:], []*html.Node(nil)
	if i := slices.IndexFunc(after, func(c *html.Node) bool { return c.Data == "mprescripts" }); i >= 0 {
		after, before = after[:i], after[i+1:]
	}
	if last, _ := utf8.DecodeLastRune(w.inline.b); len(before) > 0 && isLetter(last) {
		w.inline.space = true
	}
	for i, c := range before {
		w.scriptPart(c, signs[i%2])
	}
	w.inline.formed = len(w.inline.b)
	w.scriptBase(base)
	for i, c := range after {
		w.scriptPart(c, signs[i%2])
	}
}

// scriptBase writes the base of scripts, in parentheses if they would be taken for scripts of a
// part of it: 1/2^2 is not the square of a half.
func (w *htmlWriter) scriptBase(n *html.Node) {
	before := len(w.inline.b)
	if hasPlaces(n) {
		w.parenthesized(n, w.node)
	} else {
		w.node(n)
	}
	w.inline.space = w.inline.space && len(w.inline.b) == before
}

// scriptPart writes a script after its sign.
func (w *htmlWriter) scriptPart(n *html.Node, sign string) {
	before := len(w.inline.b)
	if isSigned(n) {
		w.sign(sign)
	}
	w.group(n, w.node)
	w.inline.space = w.inline.space && len(w.inline.b) == before
}

// isSigned reports whether a script needs a sign, because it would be taken for a part of the
// text before it.
func isSigned(n *html.Node) bool {
	text, single := onlyText(n)
	first, _ := utf8.DecodeRuneInString(text)
	return !single || beginsScript(first)
}

// hasPlaces reports whether a part of a formula is, but for rows of one part, an element whose
// parts have places that a sign shows.
func hasPlaces(n *html.Node) bool {
	for level := 0; level < deepest && n.Type == html.ElementNode && !isFenced(n); level++ {
		parts := partsOf(n)
		switch n.Data {
		case "mfrac", "msqrt", "mroot":
			return true
		case "msup", "mover", "msub", "munder", "msubsup", "munderover", "mmultiscripts":
			return len(parts) > 0 && slices.ContainsFunc(parts[1:], isSigned)
		}
		if len(parts) != 1 {
			return false
		}
		n = parts[0]
	}
	return false
}

// fenced writes arguments between fences, with separators. The last separator is repeated.
func (w *htmlWriter) fenced(n *html.Node) {
	opening, closing := fencesOf(n)
	separators := []rune(strings.Join(strings.Fields(attributeOr(n, "separators", ",")), ""))
	w.inline.text(opening)
	for i, c := range partsOf(n) {
		if i > 0 && len(separators) > 0 {
			w.inline.space = false
			w.inline.text(string(separators[min(i, len(separators))-1]))
		}
		w.node(c)
	}
	w.inline.space = false
	w.inline.text(closing)
}

func fencesOf(n *html.Node) (opening, closing string) {
	return strings.TrimSpace(attributeOr(n, "open", "(")), strings.TrimSpace(attributeOr(n, "close", ")"))
}

// isFenced reports whether a part of a formula begins and ends with a fence.
func isFenced(n *html.Node) bool {
	opening, closing := fencesOf(n)
	return n.Data == "mfenced" && opening != "" && closing != ""
}

// attributeOr returns an attribute of an element, which may be empty, or without it a default.
func attributeOr(n *html.Node, key, otherwise string) string {
	if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key && a.Namespace == "" }) {
		return attribute(n, key)
	}
	return otherwise
}

// sign writes the sign of a script, escaped where it could begin emphasis.
func (w *htmlWriter) sign(sign string) {
	last, _ := utf8.DecodeLastRune(w.inline.b)
	if sign == "_" && (w.inline.space || !isLetter(last)) {
		sign = `\_`
	}
	w.inline.raw(sign)
}

// fraction writes a fraction. Without a line it is a binomial coefficient.
func (w *htmlWriter) fraction(n *html.Node) {
	sign := "/"
	switch attribute(n, "linethickness") {
	case "0", "0px", "0pt", "0em":
		sign = " "
	}
	w.apart() // one and a half is not 11/2
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

// group writes a part of a formula, in parentheses unless it has fences or is one number, name
// or sign.
func (w *htmlWriter) group(n *html.Node, write func(*html.Node)) {
	if _, single := onlyText(n); single || isFenced(n) {
		write(n)
		return
	}
	w.parenthesized(n, write)
}

func (w *htmlWriter) parenthesized(n *html.Node, write func(*html.Node)) {
	w.inline.raw("(")
	write(n)
	w.inline.space = false
	w.inline.raw(")")
}

// deepest is how many elements within each other are searched for one part.
const deepest = 8

// onlyText returns the text of a part of a formula that is one number, name or sign, or is
// empty. Otherwise, or if the text is in many nested elements, single is false.
func onlyText(n *html.Node) (text string, single bool) {
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
