package convert

import (
	"iter"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// minMain is the least text that is taken as the main text of a page, in code points.
	minMain = 200
	// minParagraph is the least text of a paragraph that counts, in code points.
	minParagraph = 25
)

// mainText returns the element with the main text of a page, and drops the frame around it:
// navigation, footers, and so on. The main text is the <main> or <article> of the page if there is
// one with enough text, else the element whose paragraphs have the highest score. If neither has a
// quarter of the text, as on a page of lists, it is the whole page.
func (p *page) mainText(root *html.Node) *html.Node {
	m := measurer{page: p, whole: lengthOf(root), texts: map[*html.Node]measures{}}
	whole := m.measure(root, false)
	if whole.chars < minMain {
		// The dropped parts may be all of the page.
		clear(p.dropped)
		return root
	}
	best := m.landmark(root, whole)
	if best == nil {
		best = m.widen(m.paragraphs(root))
	}
	if best == nil || m.texts[best].chars*4 < whole.chars {
		return root
	}
	return best
}

// measures are about the text of an element. All of them but all are without the frame.
type measures struct {
	chars, commas, linked int
	all                   int // the length with the frame
}

// prose is the share of the text that is not links.
func (m measures) prose() float64 { return 1 - float64(m.linked)/float64(max(m.chars, 1)) }

type measurer struct {
	page  *page
	whole int                     // the length of all text that is not hidden
	texts map[*html.Node]measures // of blocks, also of dropped ones: see kept
	marks int                     // marks of the main text so far
}

// measure records the text of an element and of all in it, and drops the frame around the main
// text. inMain is set within <main> and <article>, which have their own headers and footers.
func (m *measurer) measure(n *html.Node, inMain bool) measures {
	switch n.Type {
	case html.TextNode:
		text := strings.TrimSpace(n.Data)
		length := utf8.RuneCountInString(text)
		return measures{chars: length, commas: strings.Count(text, ","), all: length}
	case html.ElementNode:
		if isHidden(n) {
			return measures{}
		}
		if isBeside(n, inMain) {
			m.page.dropped[n] = true
			return measures{all: lengthOf(n)}
		}
		inMain = inMain || isMain(n)
		if marksMain(n) {
			m.marks++
		}
		if n.DataAtom == atom.Form || isNamedBeside(n) {
			return m.measureNamed(n, inMain)
		}
	}
	return m.measureAll(n, inMain)
}

// measureNamed is measure for a form, and for an element that is named like a part of the frame.
// If it has most of the text of the page, or contains a mark of the main text, it is not a part
// of the frame. A form may be around the frame too, so all of its text counts.
func (m *measurer) measureNamed(n *html.Node, inMain bool) measures {
	marks := m.marks
	sum := m.measureAll(n, inMain)
	text := sum.chars - sum.linked
	if n.DataAtom == atom.Form {
		text = sum.all
	}
	if 2*text > m.whole || m.marks > marks {
		return sum
	}
	m.page.dropped[n] = true
	return measures{all: sum.all}
}

// kept returns the nodes of a page outside of its frame. The measures of an element in the frame
// remain, because removing them would visit frames within each other again and again.
func (m *measurer) kept(root *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for n := root; n != nil; n = m.next(n) {
			if !m.page.dropped[n] && !yield(n) {
				return
			}
		}
	}
}

// next returns the node of a page after n that is not in n if n is dropped, nil at the end.
func (m *measurer) next(n *html.Node) *html.Node {
	if n.FirstChild != nil && !m.page.dropped[n] {
		return n.FirstChild
	}
	for n != nil && n.NextSibling == nil {
		n = n.Parent
	}
	if n == nil {
		return nil
	}
	return n.NextSibling
}

// lengthOf returns the number of code points of the text of a node that is not hidden.
func lengthOf(n *html.Node) int {
	switch {
	case n.Type == html.TextNode:
		return utf8.RuneCountInString(strings.TrimSpace(n.Data))
	case n.Type == html.ElementNode && isHidden(n):
		return 0
	}
	sum := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		sum += lengthOf(c)
	}
	return sum
}

// measureAll records the text of an element and of all in it.
func (m *measurer) measureAll(n *html.Node, inMain bool) measures {
	var sum measures
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		below := m.measure(c, inMain)
		sum.chars += below.chars
		sum.commas += below.commas
		sum.linked += below.linked
		sum.all += below.all
	}
	if n.DataAtom == atom.A {
		sum.linked = sum.chars
	}
	if n.Type != html.ElementNode || isBlock(n) || isMain(n) {
		m.texts[n] = sum
	}
	return sum
}

func isMain(n *html.Node) bool {
	return n.DataAtom == atom.Main || n.DataAtom == atom.Article || attribute(n, "role") == "main" ||
		attribute(n, "itemprop") == "articleBody"
}

// marksMain reports whether an element shows that the elements around it are not the frame of a
// page: its main element, which may not be within a part of the frame (HTML standard, 4.4.14), or
// its heading of the first level.
func marksMain(n *html.Node) bool {
	return n.DataAtom == atom.H1 || isMain(n) && n.DataAtom != atom.Article
}

// isBeside reports whether an element belongs to the frame of a page by its kind.
func isBeside(n *html.Node, inMain bool) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Footer, atom.Dialog:
		return true
	case atom.Header:
		return !inMain
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar":
		return true
	}
	return false
}

// maxName is the largest number of words of an id that names a part of a frame. A longer id is made
// of the words of a heading, as in sharing-with-several-developers.
const maxName = 3

// isNamedBeside reports whether a block is named like a part of the frame of a page.
func isNamedBeside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	if !isBlock(n) {
		return false
	}
	if id := strings.ToLower(attribute(n, "id")); len(wordsOfName(id)) <= maxName && besideName(id) {
		return true
	}
	for name := range strings.FieldsSeq(strings.ToLower(attribute(n, "class"))) {
		if besideName(name) {
			return true
		}
	}
	return false
}

func wordsOfName(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ':' })
}

// besideName reports whether the words of a class or id name a part of the frame of a page.
func besideName(name string) bool {
	if len(name) > 64 {
		return false
	}
	words := wordsOfName(name)
	for i, word := range words {
		switch word {
		case "nav", "navbar", "navigation", "breadcrumb", "breadcrumbs", "sidebar", "footer", "cookie", "cookies",
			"consent", "gdpr", "newsletter", "advertisement", "advert", "ads", "promo", "sponsored",
			"comments", "disqus", "share", "sharing", "social", "related", "paywall", "popup", "modal", "toc":
			// "no-sidebar" and "has-ads" describe something else.
			if i == 0 || words[i-1] != "no" && words[i-1] != "has" && words[i-1] != "with" {
				return true
			}
		}
	}
	return false
}

// landmark returns the element that the page itself marks as its main text, if there is one. For
// several articles, such as a question and its answers, it returns the element around them.
func (m *measurer) landmark(root *html.Node, whole measures) *html.Node {
	var best *html.Node
	for n := range m.kept(root) {
		text, measured := m.texts[n]
		if !measured || n.Type != html.ElementNode || !isMain(n) || text.chars < minMain {
			continue
		}
		switch {
		case best == nil:
			best = n
		case within(n, best):
			// An article with most of the text of the main element.
			if text.chars*5 > m.texts[best].chars*3 {
				best = n
			}
		case text.chars > m.texts[best].chars:
			best = n
		}
	}
	if best != nil && best.DataAtom == atom.Article {
		best = m.articles(root, best)
	}
	if best != nil && m.texts[best].chars*4 < whole.chars {
		return nil
	}
	return best
}

// articles returns the element around all articles of a page except teasers of other pages, which it
// drops. It returns the best article if it is the only one.
func (m *measurer) articles(root, best *html.Node) *html.Node {
	if isTeaser(best) {
		return best
	}
	around, teasers := best, []*html.Node(nil)
	for n := range m.kept(root) {
		text, measured := m.texts[n]
		switch {
		case !measured || n.DataAtom != atom.Article || text.chars < minParagraph || within(n, best) || within(best, n):
		case isTeaser(n):
			teasers = append(teasers, n)
		default:
			for !within(n, around) {
				around = around.Parent
			}
		}
	}
	for _, n := range teasers {
		m.page.dropped[n] = true
	}
	return around
}

// isTeaser reports whether the heading of an article is a link: the text is elsewhere.
func isTeaser(article *html.Node) bool {
	for n := range article.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			for c := range n.Descendants() {
				if c.DataAtom == atom.A && !strings.HasPrefix(attribute(c, "href"), "#") && attribute(c, "href") != "" {
					return true
				}
			}
			return n.Parent != nil && n.Parent.DataAtom == atom.A
		}
	}
	return false
}

// paragraphs returns the element whose paragraphs have the highest score. Paragraphs score for
// their length and their commas, and less the more of their text is links. They count in full for
// their parent, and by half for their grandparent.
func (m *measurer) paragraphs(root *html.Node) *html.Node {
	scores := map[*html.Node]float64{}
	var best *html.Node
	for n := range m.kept(root) {
		switch n.DataAtom {
		case atom.P, atom.Pre, atom.Blockquote, atom.Li, atom.Td, atom.Div:
		default:
			continue
		}
		text, measured := m.texts[n]
		if !measured || text.chars < minParagraph || n.DataAtom != atom.P && m.page.has(n, blocks) {
			continue
		}
		score := (1 + float64(text.commas) + min(float64(text.chars)/100, 3)) * text.prose()
		if n.DataAtom == atom.Li || n.DataAtom == atom.Td {
			score /= 2
		}
		weight := 1.0
		for parent := n.Parent; parent != nil && weight >= 0.5; parent = parent.Parent {
			if _, measured := m.texts[parent]; !measured {
				continue // not a block
			}
			scores[parent] += score * weight
			if best == nil || scores[parent] > scores[best] {
				best = parent
			}
			weight /= 2
		}
	}
	return best
}

// widen returns an element around n with much more text that is hardly links: n is then one of
// several sections.
func (m *measurer) widen(n *html.Node) *html.Node {
	if n == nil {
		return nil
	}
	for up := n.Parent; up != nil; up = up.Parent {
		inner, outer := m.texts[n], m.texts[up]
		if 10*outer.chars > 13*inner.chars && outer.prose() > 0.7*inner.prose() {
			n = up
		}
	}
	return n
}

// within reports whether n is in an element. The depth of a tree is bounded.
func within(n, element *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == element {
			return true
		}
	}
	return false
}
