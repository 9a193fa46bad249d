package convert

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inlineElement writes an element within a block.
func (w *htmlWriter) inlineElement(n *html.Node) {
	switch n.DataAtom {
	case atom.Br:
		if w.flat > 0 {
			w.inline.space = true
		} else {
			w.inline.space = false
			w.inline.b = append(w.inline.b, '\n')
		}
	case atom.A:
		w.link(n)
	case atom.S, atom.Strike, atom.Del:
		w.emphasis(n, "~~", &w.inline.struck)
	case atom.Sub:
		w.script(n, "_")
	case atom.Sup:
		w.script(n, "^")
	case atom.Abbr, atom.Acronym:
		w.children(n)
		w.explain(n, attribute(n, "title"))
	case atom.Time:
		w.children(n)
		w.dateOf(n)
	case atom.Rt:
		w.inline.raw("(")
		w.children(n)
		w.inline.raw(")")
	case atom.Input:
		w.checkbox(n)
	case atom.B, atom.Strong:
		w.emphasis(n, "**", &w.inline.strong)
	case atom.I, atom.Em, atom.Cite, atom.Dfn, atom.Var:
		w.emphasis(n, "*", &w.inline.em)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		w.code(n)
	case atom.Img:
		w.inline.text(attribute(n, "alt"))
	case atom.Math:
		if alt := attribute(n, "alttext"); alt != "" {
			w.inline.text(alt)
			return
		}
		w.formula(n)
	case atom.Q:
		open, closing := "“", "”"
		if w.inline.quoted {
			open, closing = "‘", "’"
		}
		outer := w.inline.quoted
		w.inline.quoted = true
		w.inline.raw(open)
		w.children(n)
		w.inline.space = false
		w.inline.raw(closing)
		w.inline.quoted = outer
	default:
		if n.Namespace == "math" {
			w.formula(n)
			return
		}
		w.children(n)
	}
}

// capture returns the output of an element without blocks, without the white space around it, and
// whether some follows. White space before it is given to the surrounding text.
func (w *htmlWriter) capture(n *html.Node) (text string, after bool) {
	outer := w.inline
	w.inline.b, w.inline.space = nil, false
	w.inline.glued = len(outer.b) > 0 && !outer.space || outer.glued
	w.held += len(outer.b)
	w.flat++
	w.children(n)
	w.flat--
	w.held -= len(outer.b)
	text = string(w.inline.b)
	after = w.inline.space
	outer.space = outer.space || leads(n)
	w.inline = outer
	return strings.Trim(text, " "), after
}

// leads reports whether the text of an element begins with white space.
func leads(n *html.Node) bool {
	for n != nil && n.Type != html.TextNode {
		n = n.FirstChild
	}
	return n != nil && n.Data != "" && strings.IndexByte(" \t\r\n", n.Data[0]) >= 0
}

func (w *htmlWriter) link(n *html.Node) {
	href := attribute(n, "href")
	if strings.HasPrefix(href, "#") && isSign(n.FirstChild) {
		return // the link of a heading to itself
	}
	target := resolve(w.base, href)
	if target == nil || w.inline.inLink || w.page.has(n, blocks) {
		w.children(n)
		return
	}
	w.inline.inLink = true
	text, after := w.capture(n)
	w.inline.inLink = false
	if text != "" {
		w.writeLink(text, target)
	}
	w.inline.space = w.inline.space || after
}

// isSign reports whether a node is the text of one sign.
func isSign(n *html.Node) bool {
	if n == nil || n.Type != html.TextNode || n.NextSibling != nil {
		return false
	}
	sign, size := utf8.DecodeRuneInString(strings.TrimSpace(n.Data))
	return size == len(strings.TrimSpace(n.Data)) && !isLetter(sign)
}

func (w *htmlWriter) writeLink(text string, target *url.URL) {
	// An exclamation mark would make it an image.
	if b := w.inline.b; len(b) > 0 && b[len(b)-1] == '!' && !w.inline.space {
		w.inline.b = append(b[:len(b)-1], `\!`...)
	}
	address := linkEscaper.Replace(target.String())
	if strings.TrimPrefix(address, "mailto:") == strings.ReplaceAll(text, `\`, "") {
		w.inline.raw("<" + strings.TrimPrefix(address, "mailto:") + ">")
		return
	}
	w.inline.raw("[" + text + "](" + address + ")")
}

// linkEscaper encodes characters that would end the target of a link, or a cell of a table.
var linkEscaper = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\\", "%5C", "|", "%7C", "`", "%60",
	" ", "%20", "\n", "%0A", "*", "%2A")

// emphasis writes an element with a mark on both sides, if Markdown would recognise it there.
func (w *htmlWriter) emphasis(n *html.Node, mark string, within *bool) {
	if *within || w.page.has(n, blocks) {
		w.children(n)
		return
	}
	*within = true
	text, after := w.capture(n)
	*within = false
	switch {
	case text == "":
	case w.canEmphasise(n, text, after):
		w.inline.raw(mark + text + mark)
	default:
		w.inline.raw(text)
	}
	w.inline.space = w.inline.space || after
}

// canEmphasise reports whether Markdown recognises marks around text: within a word, they must not
// touch punctuation, nor other marks.
func (w *htmlWriter) canEmphasise(n *html.Node, text string, spaceAfter bool) bool {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	before := ' '
	if len(w.inline.b) > 0 && !w.inline.space {
		before, _ = utf8.DecodeLastRune(w.inline.b)
	}
	after, next := ' ', n.NextSibling
	for up := n.Parent; next == nil && up != nil && !isBlock(up); up = up.Parent {
		next = up.NextSibling
	}
	if next != nil && !spaceAfter && next.DataAtom != atom.Br && !isBlock(next) {
		after = 'x'
		if next.Type == html.TextNode && next.Data != "" {
			after, _ = utf8.DecodeRuneInString(next.Data)
		}
	}
	if before == '*' || before == '\\' || first == '*' || last == '*' || last == '\\' {
		return false
	}
	return (isLetter(first) || !isLetter(before)) && (isLetter(last) || !isLetter(after))
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// code writes inline code, between marks longer than any in it.
func (w *htmlWriter) code(n *html.Node) {
	if w.page.has(n, blocks) {
		w.children(n)
		return
	}
	var b strings.Builder
	w.preText(&b, n)
	text := oneLine(b.String(), b.Len())
	if text == "" {
		return
	}
	if w.inline.inCell {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if text[0] == '`' || text[len(text)-1] == '`' {
		text = " " + text + " "
	}
	if l := &w.inline; len(l.b) > 0 && l.b[len(l.b)-1] == '`' {
		l.space = true
	}
	w.inline.raw(fence + text + fence)
}
