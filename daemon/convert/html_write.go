package convert

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"evalctl/daemon/convert/budget"
)

// maxIndents bounds the indented levels of lists and quotes, so that the output does not grow with
// depth times size.
const maxIndents = 8

// htmlWriter writes the Markdown of a tree in one pass, block by block.
type htmlWriter struct {
	meter   *budget.Meter
	base    *url.URL
	page    *page
	err     error
	visited int
	counted int // bytes of the document

	out     strings.Builder
	indents []indent
	tight   bool // the next block follows without a blank line
	inline  inline
	held    int             // bytes of the block around the element that is captured
	flat    int             // within elements whose text is on one line: blocks end nothing
	heading string          // begins the block, "## "
	itemEnd int             // length of out after the last item
	known   map[string]bool // abbreviations that have been explained
	item    int             // number of the next item of an ordered list, 0 in others
	step    int             // to the number of the item after it
}

// indent is the beginning of the lines of a list item or a quote.
type indent struct {
	first, rest string
	used        bool // the first line is written
}

func (w *htmlWriter) children(n *html.Node) {
	for c := n.FirstChild; c != nil && w.err == nil; c = c.NextSibling {
		w.node(c)
	}
}

// node writes a node and its content. The parser bounds the depth of a tree, so recursion over it
// is safe.
func (w *htmlWriter) node(n *html.Node) {
	if w.visited++; w.visited%1024 == 0 {
		w.check(w.held + len(w.inline.b))
	}
	switch n.Type {
	case html.TextNode:
		w.inline.text(n.Data)
	case html.DocumentNode:
		w.children(n)
	case html.ElementNode:
		switch {
		case isHidden(n) || w.page.dropped[n]:
		case w.flat > 0 && isBlock(n):
			w.inline.space = true
			w.children(n)
			w.inline.space = true
		case isBlock(n):
			w.flush()
			w.block(n)
			w.flush()
		default:
			w.inlineElement(n)
		}
	}
}

// perText is the memory for a byte of the document, in bytes: the document grows to twice its size,
// and is copied once.
const perText = 3

// check ends the conversion if it takes too long, or if its result with more further bytes takes
// too much memory.
func (w *htmlWriter) check(more int) {
	if grown := w.out.Len() + more - w.counted; grown > 0 {
		_ = w.meter.Hold(perText * int64(grown)) // is its Err
		w.counted += grown
	}
	if w.err == nil {
		w.err = w.meter.Err()
	}
}

// block writes an element that begins and ends a block.
func (w *htmlWriter) block(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading = strings.Repeat("#", int(n.Data[1]-'0')) + " "
		w.flat++
		w.children(n)
		w.flat--
		w.flush()
		w.heading = ""
	case atom.Hr:
		if w.out.Len() > 0 {
			w.lines("* * *\n")
		}
	case atom.Pre:
		w.pre(n)
	case atom.Blockquote:
		w.nested(n, indent{first: "> ", rest: "> "})
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.list(n)
	case atom.Li:
		w.listItem(n)
	case atom.Table:
		w.table(n)
	default:
		w.children(n)
	}
}

func (w *htmlWriter) list(n *html.Node) {
	outer, outerStep := w.item, w.step
	w.item, w.step = 0, 1
	if n.DataAtom == atom.Ol {
		w.item = 1
		if hasAttribute(n, "reversed") {
			w.item, w.step = itemsOf(n), -1
		}
		if start, ok := itemNumber(n, "start"); ok {
			w.item = start
		}
	}
	// A list within an item follows its text directly.
	w.tight = len(w.indents) > 0 && n.Parent != nil && n.Parent.DataAtom == atom.Li
	w.children(n)
	w.flush()
	w.tight = false
	w.item, w.step = outer, outerStep
}

// itemNumber returns a number of a list or an item, and whether Markdown can write it.
func itemNumber(n *html.Node, key string) (int, bool) {
	number, err := strconv.Atoi(attribute(n, key))
	return number, err == nil && number >= 0 && number < 1e6
}

func itemsOf(list *html.Node) (items int) {
	for c := list.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Li {
			items++
		}
	}
	return items
}

func (w *htmlWriter) listItem(n *html.Node) {
	mark := "- "
	if n.Parent != nil && n.Parent.DataAtom == atom.Ol {
		if number, ok := itemNumber(n, "value"); ok {
			w.item = number
		}
		if letter := letterMark(n.Parent, w.item); letter != "" {
			w.inline.raw(letter)
		} else {
			mark = strconv.Itoa(max(0, w.item)) + ". "
		}
		w.item += w.step
	}
	// Items follow each other without a blank line.
	w.tight = w.tight || w.itemEnd > 0 && w.itemEnd == w.out.Len()
	w.nested(n, indent{first: mark, rest: strings.Repeat(" ", len(mark))})
	w.tight = false
	w.itemEnd = w.out.Len()
}

// nested writes the blocks of an element behind an indentation.
func (w *htmlWriter) nested(n *html.Node, with indent) {
	if len(w.indents) == maxIndents {
		w.children(n)
		w.flush()
		return
	}
	w.indents = append(w.indents, with)
	w.children(n)
	w.flush()
	w.indents = w.indents[:len(w.indents)-1]
}

// pre writes preformatted text as a fenced block.
func (w *htmlWriter) pre(n *html.Node) {
	var b strings.Builder
	w.preText(&b, n)
	text := strings.Trim(cleanText(b.String()), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	var fenced strings.Builder
	writeFenced(&fenced, languageOf(n), text+"\n")
	w.lines(fenced.String())
}

func (w *htmlWriter) preText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		case c.Type == html.ElementNode && !isHidden(c):
			w.preText(b, c)
			// Lines of code are often elements.
			if isBlock(c) && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
		}
	}
}

// languageOf returns the language of code, by the convention of its class.
func languageOf(pre *html.Node) string {
	for _, n := range []*html.Node{pre, pre.FirstChild} {
		if n == nil || n.Type != html.ElementNode {
			continue
		}
		for class := range strings.FieldsSeq(attribute(n, "class")) {
			name, ok := strings.CutPrefix(class, "language-")
			if ok && len(name) <= 20 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+#-") == "" {
				return name
			}
		}
	}
	return ""
}

// flush ends a block of text.
func (w *htmlWriter) flush() {
	if w.flat > 0 {
		return
	}
	text := w.inline.take()
	if text == "" {
		return
	}
	if w.heading != "" {
		text = strings.ReplaceAll(text, "\n", " ")
		w.lines(w.heading + escapeHeading(text) + "\n")
		return
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("  \n")
		}
		b.WriteString(escapeStart(line))
	}
	b.WriteByte('\n')
	w.lines(b.String())
}

// lines writes the lines of a block behind the indentation.
func (w *htmlWriter) lines(text string) {
	if w.check(len(text)); w.err != nil {
		return
	}
	if w.out.Len() > 0 && !w.tight {
		blank := ""
		for _, in := range w.indents {
			if in.used {
				blank += in.rest
			}
		}
		w.out.WriteString(strings.TrimRight(blank, " "))
		w.out.WriteByte('\n')
	}
	w.tight = false
	for line := range strings.Lines(text) {
		for i := range w.indents {
			in := &w.indents[i]
			if in.used {
				w.out.WriteString(in.rest)
			} else {
				w.out.WriteString(in.first)
				in.used = true
			}
		}
		w.out.WriteString(line)
	}
}
