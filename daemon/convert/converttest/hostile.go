// Package converttest makes small files that cost much to convert.
package converttest

import (
	"bytes"
	"fmt"
	"strings"

	"evalctl/daemon/convert"
)

// File is a file for convert.Convert.
type File struct {
	Name string
	Kind convert.Kind
	Data []byte
}

// Bomb returns the smallest of the files: a PDF of less than 2 KB, whose page is compressed several
// times over.
func Bomb() File {
	content := strings.Repeat(" ", 60<<20)
	for range 3 {
		content = deflate(content)
	}
	return pdfFile("nested deflate", onePage(helvetica, "/Filter [/FlateDecode /FlateDecode /FlateDecode]", content).bytes(0))
}

// Hostile returns files made to exhaust the memory or the time of their reader, each of at most 2
// MiB.
func Hostile() []File {
	files := []File{Bomb()}
	for name, data := range pdfs() {
		files = append(files, pdfFile(name, data))
	}
	for name, data := range htmls() {
		files = append(files, File{name + ".html", convert.HTML, []byte(data)})
	}
	for name, data := range texts() {
		files = append(files, File{name + ".json", convert.JSON, []byte(data)})
	}
	return files
}

func pdfFile(name string, data []byte) File { return File{name + ".pdf", convert.PDF, data} }

func pdfs() map[string][]byte {
	flate := "/Filter /FlateDecode"
	blank := strings.Repeat(" ", 60<<20)
	drawn := func(resources, content string) []byte { return onePage(resources, flate, deflate(content)).bytes(0) }

	// One content that many pages share.
	shared := onePage(helvetica, flate, deflate(blank))
	kids := "3 0 R"
	for i := range 400 {
		shared = append(shared, "<</Type /Page /Parent 2 0 R /Contents 4 0 R>>")
		kids += fmt.Sprintf(" %d 0 R", i+5)
	}
	shared[1] = "<</Type /Pages /Count 401 /Kids [" + kids + "]>>"

	// A font within the resources, which has no number and is read each time that it is chosen.
	wide := "/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<</Subtype /CIDFontType2 /W [" +
		strings.Repeat("0 65535 5 ", 100) + "]>>]>>>>"
	mapped := onePage("/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 5 0 R>>>>", flate,
		deflate(strings.Repeat("BT /F1 9 Tf <0041> Tj ET ", 100_000)))
	mapped.stream(flate, deflate("1 beginbfrange "+strings.Repeat("<0000> <ffff> <0041> ", 1<<17)+"endbfrange"))

	// One object that is listed many times, and a stream that is.
	array := onePage(helvetica, flate, deflate("BT /F1 9 Tf (x) Tj ET"))
	array = append(array, "["+strings.Repeat("<</A 1>> ", 7000)+"]")
	stream := onePage(helvetica, flate, deflate("BT /F1 9 Tf (x) Tj ET"))
	stream.stream("", strings.Repeat("@", 64<<10))

	// Objects that are many times as large in memory as in the file, reached from the page.
	reached := onePage(helvetica, flate, deflate("BT /F1 9 Tf (x) Tj ET"))
	names := ""
	for i := range 16 {
		names += fmt.Sprintf(" %d 0 R", len(reached)+17+i)
	}
	reached[2] = strings.Replace(reached[2], "/Contents", "/Annots ["+names+"] /Contents", 1)

	forms := onePage(helvetica+" /XObject <</X 5 0 R>>", "", "/X Do")
	for i := range 14 {
		forms.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources <<%s /XObject <</X %d 0 R>>>>", helvetica, i+6),
			"BT /F1 1 Tf (x) Tj ET "+strings.Repeat("/X Do ", 10))
	}
	forms.stream("/Type /XObject /Subtype /Form /BBox [0 0 1 1]", "")

	// A table that pdfcpu decodes, whatever its type. A comment makes room for its entries.
	entries := onePage(helvetica, flate, deflate("BT /F1 9 Tf (x) Tj ET"))
	head, _ := entries.objects()
	table := func(kind, filter, content string) []byte {
		return fmt.Appendf(nil, "%s6 0 obj\n<<%s /W [1 1 1] /Index [0 16000000] /Size 16000000 /Root 1 0 R %s /Length %d>>\nstream\n%s\nendstream\nendobj\n"+
			"%s\nstartxref\n%d\n%%%%EOF\n", head, kind, filter, len(content), content, strings.Repeat(" ", 1<<20), len(head))
	}
	zeros := deflate(strings.Repeat("\x00", 200<<20))

	// Streams of objects whose lists are long.
	lists := onePage(helvetica, flate, deflate("BT /F1 9 Tf (x) Tj ET"))

	return map[string][]byte{
		"deflate":                 drawn(helvetica, blank),
		"shared content":          shared.bytes(0),
		"glyphs":                  drawn(helvetica, "BT /F1 1 Tf "+strings.Repeat("(a b c d e f g h) Tj 0 -2 Td ", 1<<20)),
		"one long string":         drawn(helvetica, "BT /F1 1 Tf ("+strings.Repeat("x", 48<<20)+") Tj ET"),
		"operands":                drawn(helvetica, strings.Repeat("1 ", 16<<20)+"Tj"),
		"wide font":               drawn(wide, strings.Repeat("/F1 9 Tf ", 1<<20)),
		"character map":           mapped.bytes(0),
		"repeated array":          array.bytes(4000),
		"repeated stream":         stream.bytes(20_000),
		"objects":                 reached.compact(16, "["+strings.Repeat("<</A 1>>", 1<<17)+"]", 1),
		"forms":                   forms.bytes(0),
		"cross references":        table("/Type /XRef", flate, zeros),
		"no cross references":     table("/Type /X", flate, zeros),
		"nested cross references": table("/Type /XRef", "/Filter [/FlateDecode /FlateDecode]", deflate(zeros)),
		"lists":                   lists.compact(300, "1", 40_000),
	}
}

func htmls() map[string]string {
	var fonts strings.Builder
	for i := range 250 {
		fmt.Fprintf(&fonts, "<font size=%d>", i)
	}
	return map[string]string{
		"elements":            strings.Repeat("<p>", 600_000),
		"formatting elements": "<div>" + fonts.String() + "</div>" + strings.Repeat("<p>x", 100_000),
		"formatted text":      "<div>" + fonts.String() + "</div>" + strings.Repeat("<p>x</p>", 100_000),
		"adoptions":           strings.Repeat("<a><div>", 250) + strings.Repeat("</a>", 100_000),
		"deep":                strings.Repeat("<div>", 400_000),
		"unclosed":            strings.Repeat("<b>", 600_000),
		"table":               "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>", 100), 4000),
		"wide table":          "<table><tr>" + strings.Repeat("<td>x", 300_000),
		"spans":               "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=65534>x", 20_000),
		"fostered":            "<table>" + strings.Repeat("<b>x", 300_000),
		"attributes":          "<p " + strings.Repeat("a ", 900_000) + ">x",
		"nested lists":        strings.Repeat("<ul><li>x", 200_000),
		"nested quotes":       strings.Repeat("<blockquote>x", 150_000),
		"entities":            "<p>" + strings.Repeat("&amp;", 400_000),
	}
}

func texts() map[string]string {
	return map[string]string{
		"brackets":      strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
		"empty objects": strings.Repeat("[", 14) + strings.TrimSuffix(strings.Repeat("{},", 600_000), ",") + strings.Repeat("]", 14),
		"levels":        strings.Repeat(`{"a":[`, 15) + strings.TrimSuffix(strings.Repeat(`"x\ny",`, 200_000), ",") + strings.Repeat("]}", 15),
		"lines":         string(bytes.Repeat([]byte("1\n"), 1<<20)),
	}
}
