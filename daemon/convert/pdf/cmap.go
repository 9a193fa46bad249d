package pdf

import (
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"evalctl/daemon/convert/budget"
)

// maxMappings bounds the entries of a CMap. There are 65,536 codes of two bytes.
const maxMappings = 1 << 17

// cmap maps character codes to text (ToUnicode) or to character identifiers.
type cmap struct {
	lengths [5]bool // of codes, in bytes, as the code space has them
	ranges  []mapping
}

// mapping maps the codes from low to high. The last unit of text, or cid, grows with the code.
type mapping struct {
	low, high uint32
	text      []uint16
	cid       uint32
}

// perMapping is the memory for a mapping, and perOperand the memory for an operand until its
// operator, in bytes.
const perMapping, perOperand = 64, 64

// parseCMap reads the mappings of a CMap. It ignores unknown operators. The error is the meter's,
// which holds the result.
func parseCMap(meter *budget.Meter, data []byte) (*cmap, error) {
	m := &cmap{}
	l := lexer{data: data}
	var operands []token
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		if err := meter.Step(perOperator); err != nil {
			return m, err
		}
		if t.kind != tokenOperator {
			if len(operands) < 4*maxMappings {
				operands = append(operands, t)
			}
			if len(operands)%1024 == 0 && int64(len(operands)+len(m.ranges))*2*perOperand > meter.Memory() {
				return m, meter.Hold(meter.Memory() + 1)
			}
			continue
		}
		switch string(t.text) {
		case "endcodespacerange":
			for _, t := range operands {
				if n := len(t.text); t.kind == tokenString && n > 0 && n < len(m.lengths) {
					m.lengths[n] = true
				}
			}
		case "endbfchar", "endcidchar":
			m.chars(operands)
		case "endbfrange", "endcidrange":
			m.spans(operands)
		}
		operands = operands[:0]
	}
	slices.SortStableFunc(m.ranges, func(a, b mapping) int { return cmp.Compare(a.low, b.low) })
	return m, meter.Hold(perMapping * int64(len(m.ranges)))
}

func (m *cmap) chars(operands []token) {
	for i := 0; i+1 < len(operands); i += 2 {
		if code := operands[i]; code.kind == tokenString {
			m.add(codeOf(code.text), codeOf(code.text), operands[i+1])
		}
	}
}

func (m *cmap) spans(operands []token) {
	for i := 0; i+2 < len(operands); {
		low, high := codeOf(operands[i].text), codeOf(operands[i+1].text)
		i += 2
		if operands[i].kind != tokenArray {
			if low <= high {
				m.add(low, high, operands[i])
			}
			i++
			continue
		}
		for i++; i < len(operands) && operands[i].kind != tokenArrayEnd; i++ {
			if low <= high {
				m.add(low, low, operands[i])
				low++
			}
		}
		i++
	}
}

func (m *cmap) add(low, high uint32, to token) {
	if len(m.ranges) >= maxMappings {
		return
	}
	r := mapping{low: low, high: high, cid: uint32(max(to.num, 0))}
	if to.kind == tokenString {
		for i := 0; i+1 < len(to.text) && i < 64; i += 2 {
			r.text = append(r.text, binary.BigEndian.Uint16(to.text[i:]))
		}
		if len(to.text) == 1 {
			r.text = []uint16{uint16(to.text[0])}
		}
	}
	m.ranges = append(m.ranges, r)
}

// find returns the mapping of a code, nil if there is none.
func (m *cmap) find(code uint32) *mapping {
	i, found := slices.BinarySearchFunc(m.ranges, code, func(r mapping, code uint32) int { return cmp.Compare(r.low, code) })
	if !found {
		i--
	}
	if i < 0 || m.ranges[i].high < code {
		return nil
	}
	return &m.ranges[i]
}

func (m *cmap) text(code uint32) (string, bool) {
	r := m.find(code)
	if r == nil || len(r.text) == 0 {
		return "", false
	}
	units := slices.Clone(r.text)
	units[len(units)-1] += uint16(code - r.low)
	return string(utf16.Decode(units)), true
}

// codeOf returns a character code of at most four bytes.
func codeOf(b []byte) uint32 {
	var code uint32
	for _, c := range b[:min(len(b), 4)] {
		code = code<<8 | uint32(c)
	}
	return code
}
