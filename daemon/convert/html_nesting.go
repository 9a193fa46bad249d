package convert

import (
	"bytes"
	"errors"
	"hash/maphash"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"evalctl/daemon/convert/budget"
)

const (
	// maxNesting bounds the sum of the depths of all tags. This sum is the work of the parser,
	// which searches the open elements at most tags. Pages of 25 MiB have less than half of it.
	maxNesting = 32 << 20
	// maxOpen is how many levels the parser accepts.
	maxOpen = 512
	// Bytes of a node, of an attribute, and of the measures of an element for its main text,
	// which are 40 in a map that may be half full.
	perNode, perAttribute, perMeasure = 120, 64, 80
)

// countNodes counts the nodes that the parser will allocate, because the parser has no limit of its
// own. It rejects a page with many tags within many open elements.
//
// A tag or a text makes a node, and repeats the elements of formatting (<b>, <font>) whose block
// has ended without them. So a page of 400 KB can have 25 million nodes.
func countNodes(m *budget.Meter, data []byte, mainText bool) error {
	c := nodeCounter{open: map[atom.Atom]int{}, equal: map[uint64]int{}, seed: maphash.MakeSeed()}
	depths := 0
	z := html.NewTokenizer(m.Reader(bytes.NewReader(data)))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return m.Err()
		}
		cost := int64(len(z.Raw()))
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			cost += perAttribute * c.start(z)
			if mainText {
				cost += perMeasure
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			c.end(atom.Lookup(name))
		}
		nodes := c.node()
		if err := m.Hold(cost + perNode*int64(nodes)); err != nil {
			return err
		}
		if err := m.Step(nodes); err != nil {
			return err
		}
		if kind == html.StartTagToken || kind == html.EndTagToken {
			if depths += min(len(c.stack), maxOpen); depths > maxNesting {
				return errors.New("it is nested too deeply for its size")
			}
		}
	}
}

// nodeCounter follows which elements are open, as far as tags show it.
type nodeCounter struct {
	stack []openElement
	open  map[atom.Atom]int // elements of the stack
	// formatting counts the elements of formatting without an end tag. detached are those that are
	// not on the stack. The parser repeats at most three equal ones.
	formatting int
	detached   []openElement
	equal      map[uint64]int
	seed       maphash.Seed
}

type openElement struct {
	tag    atom.Atom
	format uint64 // of an element of formatting: its tag with attributes, else 0
}

// node returns how many nodes a token makes, and repeats the detached elements.
func (c *nodeCounter) node() int {
	n := 1 + len(c.detached)
	for _, element := range c.detached {
		c.push(element)
	}
	c.detached = c.detached[:0]
	// There are more ways to end a block than this counter knows.
	return n + c.formatting/4
}

// start opens an element and returns the number of its attributes.
func (c *nodeCounter) start(z *html.Tokenizer) (attributes int64) {
	raw := maphash.Bytes(c.seed, z.Raw()) | 1
	name, more := z.TagName()
	tag := atom.Lookup(name)
	for more {
		_, _, more = z.TagAttr()
		attributes++
	}
	element := openElement{tag: tag}
	switch tag {
	// Elements that have no content.
	case atom.Area, atom.Br, atom.Col, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Wbr:
		return attributes
	// Elements that end at the next of their kind.
	case atom.A, atom.Dd, atom.Dt, atom.Li, atom.Option, atom.Td, atom.Th, atom.Tr:
		c.end(tag)
	case atom.Span:
	default:
		if !isFormat(tag) {
			c.end(atom.P)
		}
	}
	if isFormat(tag) && c.equal[raw] < 3 && c.formatting < maxOpen {
		element.format = raw
		c.equal[raw]++
		c.formatting++
	}
	c.push(element)
	return attributes
}

// push opens an element. Far more than the parser accepts are forgotten.
func (c *nodeCounter) push(element openElement) {
	if len(c.stack) == 8*maxOpen {
		for _, forgotten := range c.stack[:4*maxOpen] {
			c.open[forgotten.tag]--
		}
		c.stack = append(c.stack[:0], c.stack[4*maxOpen:]...)
	}
	c.open[element.tag]++
	c.stack = append(c.stack, element)
}

func isFormat(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

// end closes the last element of a kind, and the elements within it. The end of an element of
// formatting does not close others.
func (c *nodeCounter) end(tag atom.Atom) {
	if c.open[tag] == 0 {
		return
	}
	i := len(c.stack) - 1
	for c.stack[i].tag != tag {
		i--
	}
	c.open[tag]--
	closed := c.stack[i]
	if isFormat(tag) {
		c.stack = append(c.stack[:i], c.stack[i+1:]...)
		if closed.format != 0 {
			c.equal[closed.format]--
			c.formatting--
		}
		return
	}
	for _, within := range c.stack[i+1:] {
		c.open[within.tag]--
		if within.format != 0 {
			c.detached = append(c.detached, within)
		}
	}
	c.stack = c.stack[:i]
}
