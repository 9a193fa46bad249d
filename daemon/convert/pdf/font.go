package pdf

import (
	"bytes"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/pdfcpu/pdfcpu/pkg/font"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/text/encoding/charmap"
)

// textFont knows the text and the widths of the codes in a string.
type textFont struct {
	composite bool     // codes may have several bytes
	codes     *cmap    // of a composite font: codes to character identifiers; nil means two bytes, unchanged
	unicode   *cmap    // codes to text; nil if the font has none
	charset   *charset // of the codes of a composite font; nil if no predefined CMap names it
	numbers   *numbers // its CIDs; nil if their collection is not known
	vertical  bool     // it is written downwards
	encoding  *encoding
	widths    map[uint32]float64 // in thousandths of the font size; heights if vertical
	width     float64            // of other codes
}

// glyph is one code of a string.
type glyph struct {
	text  string
	width float64 // in thousandths of the font size
	space bool    // word spacing applies
}

// glyphs returns the glyphs that a string shows.
func (f *textFont) glyphs(s []byte, yield func(glyph)) {
	for len(s) > 0 {
		g := glyph{width: f.width}
		n := 1
		switch {
		case f.charset != nil:
			// The file does not have the CMap, so the identifiers by which widths are listed are
			// unknown.
			g.text, n = f.charset.next(s)
			if !f.vertical && (n == 1 || g.text != "" && g.text[0] < utf8.RuneSelf) {
				g.width /= 2
			}
		case f.composite:
			n = f.codeLength(s)
		}
		code := codeOf(s[:n])
		g.space = n == 1 && code == ' '
		if text := f.text(code); text != "" {
			g.text = text
		}
		if w, ok := f.widths[f.cid(code)]; ok && f.charset == nil {
			g.width = w
		}
		yield(g)
		s = s[n:]
	}
}

func (f *textFont) codeLength(s []byte) int {
	if f.codes == nil {
		return min(2, len(s))
	}
	// The shortest code that is mapped, else the longest of the code space.
	longest := 1
	for n := 1; n < len(f.codes.lengths) && n <= len(s); n++ {
		if f.codes.lengths[n] {
			if longest = n; f.codes.find(codeOf(s[:n])) != nil {
				return n
			}
		}
	}
	return longest
}

func (f *textFont) cid(code uint32) uint32 {
	if f.codes != nil {
		if r := f.codes.find(code); r != nil {
			return r.cid + code - r.low
		}
	}
	return code
}

func (f *textFont) text(code uint32) string {
	if f.unicode != nil {
		if text, ok := f.unicode.text(code); ok {
			return text
		}
	}
	if f.encoding != nil && code < 256 {
		return f.encoding[code]
	}
	if f.charset != nil {
		return ""
	}
	return f.numbers.text(f.cid(code))
}

// font returns the font of a resource. It is nil if it cannot be read.
func (r *reader) font(o types.Object) *textFont {
	d := r.dict(o)
	if d == nil {
		return nil
	}
	// The file keeps its dictionaries, so an address identifies one as long as the file is read.
	id := reflect.ValueOf(d).Pointer()
	f, ok := r.fonts[id]
	if !ok {
		f = r.readFont(d)
		r.fonts[id] = f
	}
	return f
}

// perFont and perWidth are the memory for a font and for one of its widths, in bytes.
const perFont, perWidth = 5 << 10, 40

func (r *reader) readFont(d types.Dict) *textFont {
	f := &textFont{widths: map[uint32]float64{}}
	f.unicode = r.cmap(d["ToUnicode"])
	if r.name(d["Subtype"]) == "Type0" {
		r.readComposite(f, d)
	} else {
		r.readSimple(f, d)
	}
	r.fail(r.meter.Hold(perFont + perWidth*int64(len(f.widths))))
	return f
}

// cmap returns the CMap of a stream. It is nil if there is none.
func (r *reader) cmap(o types.Object) *cmap {
	data := r.stream(o)
	if data == nil {
		return nil
	}
	defer r.release(data)
	m, err := parseCMap(r.meter, data)
	r.fail(err)
	return m
}

// readComposite reads a font whose codes are mapped to character identifiers.
func (r *reader) readComposite(f *textFont, d types.Dict) {
	f.composite = true
	f.width = 1000
	name := r.name(d["Encoding"])
	f.charset, f.vertical = charsetOf(name), name == "V" || strings.HasSuffix(name, "-V")
	if mode, _ := r.number(r.dict(d["Encoding"])["WMode"]); mode == 1 {
		f.vertical = true
	}
	f.codes = r.cmap(d["Encoding"])
	descendants := r.array(d["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	cid := r.dict(descendants[0])
	if ordering, err := r.file.DereferenceText(r.dict(cid["CIDSystemInfo"])["Ordering"]); err == nil {
		f.numbers = numbersOf(ordering)
	}
	if w, ok := r.number(cid["DW"]); ok {
		f.width = w
	}
	if f.vertical {
		f.width = 1000
		if v := r.numbers(cid["DW2"]); len(v) == 2 {
			f.width = -v[1]
		}
		return
	}
	r.readWidths(f, r.array(cid["W"]))
}

// readWidths reads widths of the forms "first [w w …]" and "first last w".
func (r *reader) readWidths(f *textFont, w types.Array) {
	for i := 0; i+1 < len(w) && r.err == nil; {
		first, _ := r.number(w[i])
		if first < 0 || first > 0xffff {
			return
		}
		if list := r.array(w[i+1]); list != nil {
			r.fail(r.meter.Step(perOperator * len(list)))
			for j, o := range list {
				f.widths[uint32(first)+uint32(j)], _ = r.number(o)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		last, _ := r.number(w[i+1])
		width, _ := r.number(w[i+2])
		last = min(last, 0xffff)
		r.fail(r.meter.Step(perOperator * int(max(last-first, 0))))
		for code := first; code <= last; code++ {
			f.widths[uint32(code)] = width
		}
		i += 3
	}
}

// readSimple reads a font whose codes have one byte.
func (r *reader) readSimple(f *textFont, d types.Dict) {
	descriptor := r.dict(d["FontDescriptor"])
	f.encoding = r.encoding(d, descriptor)
	if w, ok := r.number(descriptor["MissingWidth"]); ok {
		f.width = w
	}
	scale := 1.0
	if m := r.numbers(d["FontMatrix"]); r.name(d["Subtype"]) == "Type3" && len(m) == 6 {
		scale = 1000 * m[0]
	}
	first, _ := r.number(d["FirstChar"])
	widths := r.array(d["Widths"])
	for i, o := range widths {
		if code := int(first) + i; code >= 0 && code < 256 {
			w, _ := r.number(o)
			f.widths[uint32(code)] = w * scale
		}
	}
	if widths == nil {
		f.width = 500
		r.standardWidths(f, r.name(d["BaseFont"]))
	}
}

// standardWidths sets the widths of the fonts that every reader of PDF has.
func (r *reader) standardWidths(f *textFont, name string) {
	if !font.IsCoreFont(name) {
		return
	}
	for code, text := range f.encoding {
		if c, size := utf8.DecodeRuneInString(text); size > 0 {
			if w, err := font.CharWidth(name, c); err == nil {
				f.widths[uint32(code)] = float64(w)
			}
		}
	}
}

// encoding returns the text of the codes of a simple font.
func (r *reader) encoding(d, descriptor types.Dict) *encoding {
	var e *encoding
	base := r.name(d["Encoding"])
	differences := r.dict(d["Encoding"])
	if differences != nil {
		base = r.name(differences["BaseEncoding"])
	}
	switch base {
	case "WinAnsiEncoding":
		e = charmapEncoding(charmap.Windows1252)
	case "MacRomanEncoding":
		e = charmapEncoding(charmap.Macintosh)
	default:
		if e = r.builtin(descriptor); e == nil {
			e = encodingOf(r.name(d["BaseFont"]))
		}
	}
	named := glyphText
	if r.name(d["Subtype"]) == "Type3" {
		named = bitmapText
	}
	code := 0
	for _, o := range r.array(differences["Differences"]) {
		if n, ok := r.number(o); ok {
			code = int(n)
			continue
		}
		if name := r.name(o); name != "" && code >= 0 && code < len(e) {
			e[code] = named(name)
			code++
		}
	}
	return e
}

// builtin returns the encoding in the program of a Type 1 font, or nil. It consists of lines "dup
// 65 /A put" in the readable part of the program.
func (r *reader) builtin(descriptor types.Dict) *encoding {
	program := r.stream(descriptor["FontFile"])
	defer r.release(program)
	start := bytes.Index(program, []byte("/Encoding"))
	if start < 0 {
		return nil
	}
	l := lexer{data: program[start:]}
	e := &encoding{}
	code, found := 0, false
	for range 4096 {
		t := l.next()
		switch {
		case t.kind == tokenNumber:
			code = int(t.num)
		case t.kind == tokenName && code >= 0 && code < len(e):
			if text := glyphText(string(t.text)); text != "" {
				e[code], found = text, true
			}
		case t.kind == tokenEnd, t.kind == tokenOperator && (string(t.text) == "def" || string(t.text) == "readonly") && found,
			t.kind == tokenOperator && (string(t.text) == "StandardEncoding" || string(t.text) == "eexec"):
			if !found {
				return nil
			}
			return e
		}
	}
	return e
}
