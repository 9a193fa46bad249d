package convert

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inline collects the text of a block as Markdown. Runs of white space are one space.
type inline struct {
	b      []byte
	space  bool // a space is due before further text
	glued  bool // other text is directly before b
	inLink bool
	inCell bool
	strong bool // within strong emphasis
	em     bool
}

// take returns the text so far and begins a new block.
func (l *inline) take() string {
	text := strings.Trim(string(l.b), " \n")
	l.b, l.space = l.b[:0], false
	return text
}

// raw adds Markdown.
func (l *inline) raw(s string) {
	if l.space && len(l.b) > 0 && l.b[len(l.b)-1] != '\n' {
		l.b = append(l.b, ' ')
	}
	l.space = false
	l.b = append(l.b, s...)
}

// text adds text, escaped.
func (l *inline) text(s string) {
	words := splitWords(s)
	for i, word := range words {
		if i > 0 {
			l.space = true
		}
		if word != "" {
			l.raw(l.escape(word, i == len(words)-1))
		}
	}
}

// splitWords splits s at runs of white space. The first and the last word are empty if s begins or
// ends with white space. Characters that only matter for hyphenation are removed.
func splitWords(s string) []string {
	if strings.ContainsAny(s, "\u00ad\u200b\ufeff") || strings.ContainsFunc(s, isControl) {
		s = strings.Map(func(r rune) rune {
			if r == '\u00ad' || r == '\u200b' || r == '\ufeff' || isControl(r) {
				return -1
			}
			return r
		}, s)
	}
	words := strings.Fields(s)
	if s == "" {
		return nil
	}
	if first, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(first) {
		words = append([]string{""}, words...)
	}
	if last, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(last) {
		words = append(words, "")
	}
	return words
}

func isControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// escape returns a word as Markdown. What has no special meaning where it is stays as it is,
// because words are found and quoted as they are written. More of the word may follow if it is open.
func (l *inline) escape(s string, open bool) string {
	if !strings.ContainsAny(s, "\\`*_[]<&~|") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		next := at(s, i+1)
		last := i == len(s)-1
		var special bool
		switch c := s[i]; c {
		case '`':
			special = true
		case '\\':
			special = last || isPunct(next)
		case '*':
			special = len(s) > 1 || open || l.strong || l.em
		case '_':
			special = !isWord(at(s, i-1)) || !isWord(next)
		case '[':
			special = l.inLink
		case ']':
			special = l.inLink || last && open || next == '(' || next == '[' || next == ':'
		case '<':
			special = last && open || isWord(next) || next == '/' || next == '!' || next == '?'
		case '&':
			name := strings.TrimLeft(s[i+1:], "#0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
			special = open && name == "" || strings.HasPrefix(name, ";")
		case '~':
			// Before a word it would need another one after a word.
			special = i > 0 || last && open || next == '~' || l.strong || l.em || !l.space && (l.glued || len(l.b) > 0)
		case '|':
			special = l.inCell
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isWord(c) }

// escapeStart escapes the beginning of a line of text if it would begin another block.
func escapeStart(line string) string {
	switch c := line[0]; {
	case c >= '0' && c <= '9':
		rest := strings.TrimLeft(line, "0123456789")
		if n := len(line) - len(rest); n <= 9 && rest != "" && (rest[0] == '.' || rest[0] == ')') && at(rest, 1) == ' ' {
			return line[:n] + `\` + rest
		}
	case c == '>', c == '#', c == '|', strings.IndexByte("+-*", c) >= 0 && at(line, 1) == ' ',
		strings.HasPrefix(line, "~~~"), strings.Trim(line, "-=+|: ") == "":
		return `\` + line
	}
	return line
}

// escapeHeading escapes the end of a heading if it would be taken for a part of its mark.
func escapeHeading(text string) string {
	if cut := strings.TrimRight(text, "#"); cut != text && (cut == "" || strings.HasSuffix(cut, " ")) {
		return cut + `\` + text[len(cut):]
	}
	return text
}

// escapeText returns the words of a line as Markdown.
func escapeText(line string) string {
	var l inline
	l.text(line)
	return l.take()
}

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
		w.children(n)
	case atom.Q:
		w.inline.raw("“")
		w.children(n)
		w.inline.space = false
		w.inline.raw("”")
	default:
		w.children(n)
	}
}

// capture returns what an element without blocks writes, without the white space around it, which
// is given to the surrounding text.
func (w *htmlWriter) capture(n *html.Node) (text string, before, after bool) {
	outer := w.inline
	w.inline.b, w.inline.space = nil, false
	w.inline.glued = len(outer.b) > 0 && !outer.space || outer.glued
	w.held += len(outer.b)
	w.flat++
	w.children(n)
	w.flat--
	w.held -= len(outer.b)
	text = string(w.inline.b)
	before, after = leads(n), w.inline.space
	outer.space = outer.space || before
	w.inline = outer
	return strings.Trim(text, " "), before, after
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
	text, _, after := w.capture(n)
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

// linkEscaper encodes what would end the target of a link, or a cell of a table.
var linkEscaper = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\\", "%5C", "|", "%7C", "`", "%60",
	" ", "%20", "\n", "%0A", "*", "%2A")

// emphasis writes an element with a mark on both sides, if Markdown would recognise it there.
func (w *htmlWriter) emphasis(n *html.Node, mark string, within *bool) {
	if *within || w.page.has(n, blocks) {
		w.children(n)
		return
	}
	*within = true
	text, _, after := w.capture(n)
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

// canEmphasise reports whether marks around text are recognised: within a word, they must not
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
