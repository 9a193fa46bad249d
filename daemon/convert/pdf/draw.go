package pdf

import (
	"math"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// matrix maps points: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// times returns the matrix that applies m first and n second.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// state is the part of the graphics state that matters for text.
type state struct {
	ctm         matrix
	font        *textFont
	size        float64
	charSpace   float64
	wordSpace   float64
	scale       float64
	leading     float64
	rise        float64
	text, start matrix // of the text, and of its line
}

func newState() state { return state{ctm: identity, scale: 1, text: identity, start: identity} }

// drawer interprets the content of a page.
type drawer struct {
	r      *reader
	layout layout
	state  state
	saved  []state
	marked []markedContent
	held   int // lines of the layout that are counted
}

// markedContent is content between BDC or BMC and EMC.
type markedContent struct {
	replaced bool   // text of it is not shown, because
	text     string // this is its text, until it is shown
}

// maxOperands bounds the operands that are kept. Operators have at most six, except for an array.
const maxOperands = 1 << 16

// draw interprets a content stream.
func (d *drawer) draw(content []byte, resources types.Dict, level int) {
	l := lexer{data: content}
	var operands []token
	for t := l.next(); t.kind != tokenEnd && d.r.err == nil; t = l.next() {
		if t.kind != tokenOperator {
			if len(operands) < maxOperands {
				operands = append(operands, t)
			}
			continue
		}
		d.r.fail(d.r.meter.Step(perOperator))
		switch op := string(t.text); op {
		case "BI":
			l.skipImage()
		case "Do":
			d.form(name(operands), resources, level)
		case "Tf":
			d.setFont(operands, resources)
		case "gs":
			d.setState(d.r.dict(d.r.dict(resources["ExtGState"])[name(operands)]))
		case "BDC", "BMC":
			d.beginMarked(operands, resources)
		default:
			d.operator(op, operands)
		}
		operands = operands[:0]
	}
}

// operator executes an operator that needs no resources.
func (d *drawer) operator(op string, operands []token) {
	s := &d.state
	n := func(i int) float64 { return operand(operands, i) }
	switch op {
	case "q":
		if len(d.saved) < 1024 {
			d.saved = append(d.saved, *s)
		}
	case "Q":
		if i := len(d.saved) - 1; i >= 0 {
			*s, d.saved = d.saved[i], d.saved[:i]
		}
	case "cm":
		s.ctm = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}.times(s.ctm)
	case "BT":
		s.text, s.start = identity, identity
	case "Tm":
		s.start = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}
		s.text = s.start
	case "Td", "TD":
		if op == "TD" {
			s.leading = -n(1)
		}
		d.move(n(0), n(1))
	case "T*":
		d.move(0, -s.leading)
	case "Tc":
		s.charSpace = n(0)
	case "Tw":
		s.wordSpace = n(0)
	case "Tz":
		s.scale = n(0) / 100
	case "TL":
		s.leading = n(0)
	case "Ts":
		s.rise = n(0)
	case "Tj":
		d.show(operands)
	case "'":
		d.move(0, -s.leading)
		d.show(operands)
	case "\"":
		s.wordSpace, s.charSpace = n(0), n(1)
		d.move(0, -s.leading)
		d.show(operands)
	case "TJ":
		d.show(operands)
	case "EMC":
		if i := len(d.marked) - 1; i >= 0 {
			d.marked = d.marked[:i]
		}
	}
}

// operand returns a number among the operands, 0 if it is missing.
func operand(operands []token, i int) float64 {
	if i < len(operands) && operands[i].kind == tokenNumber {
		return operands[i].num
	}
	return 0
}

// name returns the first name among the operands.
func name(operands []token) string {
	for _, t := range operands {
		if t.kind == tokenName {
			return string(t.text)
		}
	}
	return ""
}

func (d *drawer) move(x, y float64) {
	d.state.start = matrix{1, 0, 0, 1, x, y}.times(d.state.start)
	d.state.text = d.state.start
}

func (d *drawer) setFont(operands []token, resources types.Dict) {
	o := d.r.dict(resources["Font"])[name(operands)]
	if o == nil {
		o = d.r.dict(d.r.defaults["Font"])[name(operands)]
	}
	d.state.font = d.r.font(o)
	d.state.size = operand(operands, 1)
}

// setState takes the font and its size from a dictionary of the graphics state, if it has them (ISO
// 32000-2, 8.4.5).
func (d *drawer) setState(parameters types.Dict) {
	font := d.r.array(parameters["Font"])
	if len(font) != 2 {
		return
	}
	d.state.font = d.r.font(font[0])
	d.state.size, _ = d.r.number(font[1])
}

// show shows strings. Numbers between them move the text to the left, in thousandths of the size.
func (d *drawer) show(operands []token) {
	s := &d.state
	if s.font == nil {
		return
	}
	for _, t := range operands {
		switch t.kind {
		case tokenNumber:
			s.advance(-t.num / 1000 * s.size)
		case tokenString:
			s.font.glyphs(t.text, d.glyph)
		}
	}
}

// count counts a glyph and the lines that have ended. It reports whether the page may go on.
func (d *drawer) count() bool {
	d.r.fail(d.r.meter.Step(perGlyph))
	for ; d.held < len(d.layout.lines); d.held++ {
		d.r.fail(d.r.meter.Hold(perLine + perText*int64(len(d.layout.lines[d.held].text))))
	}
	return d.r.err == nil
}

// glyph shows a glyph and moves the text by its width. A blank that word spacing closes is not
// shown: some files write one within a word (ISO 32000-2, 9.3.3).
func (d *drawer) glyph(g glyph) {
	if !d.count() {
		return
	}
	s := &d.state
	m := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.times(s.text).times(s.ctm)
	if s.font.vertical {
		m = downwards.times(m)
	}
	shown := g.text
	for i := range d.marked {
		if d.marked[i].replaced {
			shown, d.marked[i].text = d.marked[i].text, ""
			break
		}
	}
	by := g.width / 1000 * s.size
	if s.font.vertical {
		by = -by
	}
	by += s.charSpace
	if g.space {
		by += s.wordSpace
	}
	size := math.Hypot(m.c, m.d)
	closed := g.space && s.wordSpace < 0 && by/s.size < wordGap && strings.TrimSpace(shown) == ""
	if shown != "" && !closed && size > 0 && !math.IsInf(size, 0) && !math.IsNaN(size) {
		d.layout.add(shown, m, g.width/1000, size)
	}
	s.advance(by)
}

// downwards turns the direction of reading by a quarter, to the direction of a vertical font.
var downwards = matrix{b: -1, c: 1}

// advance moves the text to the right, or upwards if the font is vertical (ISO 32000-2, 9.4.4).
func (s *state) advance(by float64) {
	move := matrix{1, 0, 0, 1, by * s.scale, 0}
	if s.font.vertical {
		move.e, move.f = 0, by
	}
	s.text = move.times(s.text)
}

func (d *drawer) form(name string, resources types.Dict, level int) {
	d.drawForm(d.r.dict(resources["XObject"])[name], resources, level)
}

// drawForm draws a form, which is a content stream with resources of its own.
func (d *drawer) drawForm(o types.Object, resources types.Dict, level int) {
	form := d.r.dict(o)
	if level >= maxLevels/4 || d.r.name(form["Subtype"]) != "Form" {
		return
	}
	outer, saved := d.state, d.saved
	d.saved = nil
	if m := d.r.numbers(form["Matrix"]); len(m) == 6 {
		d.state.ctm = matrix{m[0], m[1], m[2], m[3], m[4], m[5]}.times(d.state.ctm)
	}
	if own := d.r.dict(form["Resources"]); own != nil {
		resources = own
	}
	content := d.r.stream(o)
	d.draw(content, resources, level+1)
	d.r.release(content)
	d.state, d.saved = outer, saved
}

// beginMarked begins marked content, which may have its own text.
func (d *drawer) beginMarked(operands []token, resources types.Dict) {
	if len(d.marked) > 1024 {
		return
	}
	var m markedContent
	for i, t := range operands {
		switch {
		case t.kind == tokenName && string(t.text) == "ActualText" && i+1 < len(operands) && operands[i+1].kind == tokenString:
			m = markedContent{replaced: true, text: textString(operands[i+1].text)}
		case i == 1 && t.kind == tokenName && operands[0].kind == tokenName:
			properties := d.r.dict(d.r.dict(resources["Properties"])[string(t.text)])
			if o := properties["ActualText"]; o != nil {
				if text, err := d.r.file.DereferenceText(o); err == nil {
					m = markedContent{replaced: true, text: text}
				}
			}
		}
	}
	d.marked = append(d.marked, m)
}
