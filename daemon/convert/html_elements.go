package convert

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page has the facts about the elements of a page that are found before writing.
type page struct {
	contains map[*html.Node]content
	dropped  map[*html.Node]bool // elements beside the main text, which are not written
}

// content is a set of the kinds of content in an element.
type content uint8

const (
	blocks    content = 1 << iota
	bigBlocks         // blocks that a cell of a table cannot contain
)

// survey visits every element once. A kind of content is recorded at most once for each element, so
// the time is linear in the size of the page, however deeply it is nested.
func survey(root *html.Node) *page {
	p := &page{contains: map[*html.Node]content{}, dropped: map[*html.Node]bool{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || !isBlock(n) {
			continue
		}
		kinds := blocks
		switch n.DataAtom {
		case atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Blockquote, atom.H1, atom.H2, atom.H3:
			kinds |= bigBlocks
		}
		for up := n.Parent; up != nil && p.contains[up]&kinds != kinds; up = up.Parent {
			p.contains[up] |= kinds
		}
	}
	return p
}

func (p *page) has(n *html.Node, kind content) bool { return p.contains[n]&kind != 0 }

// isBlock reports whether an element is shown on lines of its own.
func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr,
		atom.Html, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Search,
		atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul:
		return n.Namespace == ""
	}
	return false
}

// isHidden reports whether an element is not shown to readers, or shows something other than text.
func isHidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Noframes, atom.Noembed, atom.Iframe, atom.Object,
		atom.Embed, atom.Svg, atom.Canvas, atom.Audio, atom.Video, atom.Map, atom.Head, atom.Title, atom.Select,
		atom.Datalist, atom.Textarea, atom.Progress, atom.Meter, atom.Rp:
		return true
	case atom.Button:
		if !inHeading(n) {
			return true
		}
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			if hidesBox(a.Val) {
				return true
			}
		}
	}
	return n.DataAtom == atom.Dialog && !hasAttribute(n, "open")
}

// inHeading reports whether an element is in a heading, a term, the head of a column, or the
// summary of details. A button there has the text of the heading, and opens a part or sorts a
// table.
func inHeading(n *html.Node) bool {
	for up := n.Parent; up != nil; up = up.Parent {
		switch up.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt, atom.Summary, atom.Th:
			return true
		}
	}
	return false
}

func hasAttribute(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func hidesBox(style string) bool {
	for declaration := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value, _, _ = strings.Cut(value, "!")
		switch strings.TrimSpace(name) {
		case "display":
			if strings.TrimSpace(value) == "none" {
				return true
			}
		case "visibility":
			if strings.TrimSpace(value) == "hidden" {
				return true
			}
		}
	}
	return false
}
