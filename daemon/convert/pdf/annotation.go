package pdf

import (
	"math"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// annotation draws an annotation at its place. A field shows its value if its appearance is
// missing, or is empty and has to be regenerated (ISO 32000-2, 12.7.3).
func (d *drawer) annotation(annotation types.Dict) {
	const hidden, noView = 1 << 1, 1 << 5
	flags, _ := d.r.number(annotation["F"])
	if int(flags)&(hidden|noView) != 0 || d.r.name(annotation["Subtype"]) == "Popup" {
		return
	}
	normal := d.r.dict(annotation["AP"])["N"]
	if _, ok := d.r.get(normal).(types.Dict); ok {
		// One appearance for each state, as in a check box.
		normal = d.r.dict(normal)[d.r.name(annotation["AS"])]
	}
	lines, open := len(d.layout.lines), d.layout.text.Len()
	form := d.r.dict(normal)
	if form != nil {
		d.appearance(annotation, normal, form)
	}
	hasText := len(d.layout.lines) != lines || d.layout.text.Len() != open
	if !hasText && (form == nil || d.r.needsAppearances) {
		d.value(annotation)
	}
}

// appearance draws the form that an annotation looks like.
func (d *drawer) appearance(annotation types.Dict, normal types.Object, form types.Dict) {
	d.state = newState()
	place, box := d.r.numbers(annotation["Rect"]), d.r.numbers(form["BBox"])
	if len(place) == 4 && len(box) == 4 {
		x := min(place[0], place[2]) - min(box[0], box[2])
		y := min(place[1], place[3]) - min(box[1], box[3])
		d.state.ctm = matrix{1, 0, 0, 1, x, y}
	}
	d.drawForm(normal, nil, 0)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// value writes the value of a field of text, or its choices, into the place of the field.
func (d *drawer) value(field types.Dict) {
	const password = 1 << 13
	kind := d.r.name(d.r.inherited(field, "FT"))
	flags, _ := d.r.number(d.r.inherited(field, "Ff"))
	place := d.r.numbers(field["Rect"])
	if len(place) != 4 || kind != "Ch" && (kind != "Tx" || int(flags)&password != 0) {
		return
	}
	values := types.Array{d.r.inherited(field, "V")}
	if several := d.r.array(values[0]); several != nil {
		values = several
	}
	size := d.sizeOf(field, math.Abs(place[3]-place[1]))
	y := max(place[1], place[3]) - size
	for _, v := range values {
		d.r.fail(d.r.meter.Step(perOperator))
		if d.r.err != nil {
			return
		}
		text := d.r.text(v)
		if kind == "Ch" {
			text = d.r.choice(field, text)
		}
		for line := range strings.Lines(lineEnds.Replace(text)) {
			if !d.count() {
				return
			}
			d.layout.endLine()
			d.layout.add(line, matrix{size, 0, 0, size, min(place[0], place[2]), y}, 0, size)
			y -= size
		}
	}
	d.layout.endLine()
}

// sizeOf returns the font size of a field's value. Size 0 leaves it to the viewer.
func (d *drawer) sizeOf(field types.Dict, height float64) float64 {
	appearance := d.r.inherited(field, "DA")
	if appearance == nil {
		appearance = d.r.form["DA"]
	}
	d.state = newState()
	d.draw([]byte(d.r.text(appearance)), nil, 0)
	if d.state.size > 0 {
		return d.state.size
	}
	return min(height, 12)
}

// choice returns the text by which a field lists a choice, which may differ from the stored value.
func (r *reader) choice(field types.Dict, value string) string {
	for _, o := range r.array(r.inherited(field, "Opt")) {
		if option := r.array(o); len(option) == 2 && r.text(option[0]) == value {
			return r.text(option[1])
		}
		r.fail(r.meter.Step(perOperator))
		if r.err != nil {
			break
		}
	}
	return value
}

// inherited returns an entry of a field, or of the nearest field above it that has it.
func (r *reader) inherited(field types.Dict, key string) types.Object {
	for range maxLevels {
		if o := field[key]; o != nil {
			return o
		}
		if field = r.dict(field["Parent"]); field == nil {
			break
		}
	}
	return nil
}

// text returns a text string, "" if o is another object.
func (r *reader) text(o types.Object) string {
	o = r.get(o)
	switch s := o.(type) {
	case types.StringLiteral:
		r.fail(r.meter.Step(perOperator * len(s)))
	case types.HexLiteral:
		r.fail(r.meter.Step(perOperator * len(s)))
	default:
		return ""
	}
	text, err := r.file.DereferenceText(o)
	if err != nil || r.err != nil {
		return ""
	}
	return text
}
