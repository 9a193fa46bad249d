package pdf_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"evalctl/daemon/convert/pdf"
)

// Each of these files ends with an error or a bounded result.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	simple := pages(helvetica, column(72, 700, 12, "Some text.")).bytes("")
	replace := func(old, new string) []byte {
		if !bytes.Contains(simple, []byte(old)) {
			t.Fatalf("the file has no %q", old)
		}
		return bytes.Replace(simple, []byte(old), []byte(new), 1)
	}
	tests := map[string][]byte{
		"empty":               nil,
		"text":                []byte("not a PDF"),
		"only a header":       []byte("%PDF-1.7\n"),
		"half":                simple[:len(simple)/2],
		"no trailer":          simple[:bytes.Index(simple, []byte("trailer"))],
		"huge xref":           replace("xref\n0 5", "xref\n0 4294967295"),
		"huge xref start":     replace("xref\n0 5", "xref\n4000000000 5"),
		"huge size":           replace("/Size 5", "/Size 2147483647"),
		"negative size":       replace("/Size 5", "/Size -1"),
		"xref loop":           replace("/Root 1 0 R", fmt.Sprintf("/Root 1 0 R /Prev %d", bytes.Index(simple, []byte("xref\n0")))),
		"startxref far":       append(bytes.Clone(simple), "startxref\n99999999999\n%%EOF"...),
		"catalog loop":        replace("<</Type /Catalog /Pages 2 0 R>>", "1 0 R"),
		"huge length":         replace("/Length ", "/Length 99999999"),
		"own length":          replace("/Length ", "/Length 3 0 R /X "),
		"deep arrays":         replace("/Count 1", "/Count 1 /X "+strings.Repeat("[", 1<<20)),
		"deep dictionaries":   replace("/Count 1", "/Count 1 /X "+strings.Repeat("<</X ", 1<<19)),
		"compressed xref":     compressedTable("/Index [0 2000000000] /Size 2000000000", "x"),
		"wide xref":           compressedTable("/Index [0 5] /Size 5", strings.Repeat("\x01", 1<<20)),
		"bomb of an xref":     compressedTable("/Index [0 5] /Size 5", strings.Repeat("\x00", 1<<26)),
		"page tree loop":      pageTreeLoop(),
		"bomb":                pages(helvetica, strings.Repeat(" ", 1<<26)).bytes(""),
		"double bomb":         doubleBomb(),
		"bombs":               bombs(),
		"forms":               forms(),
		"long text":           pages(helvetica, "BT /F1 1 Tf ("+strings.Repeat("a b ", 1<<20)+") Tj ET").bytes(""),
		"many operands":       pages(helvetica, strings.Repeat("1 ", 1<<22)+"Tj").bytes(""),
		"many saved states":   pages(helvetica, strings.Repeat("q ", 1<<20)).bytes(""),
		"many marks":          pages(helvetica, strings.Repeat("/P BMC ", 1<<19)).bytes(""),
		"unclosed string":     pages(helvetica, "BT /F1 1 Tf ("+strings.Repeat("(", 1<<22)).bytes(""),
		"numbers":             pages(helvetica, "BT /F1 1e999 Tf 99999999999999999999999999999999999999 0 0 0 0 0 Tm (x) Tj ET").bytes(""),
		"inline images":       pages(helvetica, strings.Repeat("BI EI", 1<<20)).bytes(""),
		"widths":              pages(wideFont("[0 [" + strings.Repeat("1 ", 1<<18) + "] 0 4000000000 5]")).bytes(""),
		"character map":       pages(mappedFont(strings.Repeat("<0000> <ffff> <0041> ", 1<<17))).bytes(""),
		"many object streams": bytes.Replace(simple, []byte("%%EOF"), bytes.Repeat([]byte("/ObjStm "), 5000), 1),
		"object stream bombs": objectStreams(8, 1<<24),
	}
	// What a limit must catch.
	limited := map[string]string{
		"bombs": "more steps", "forms": "more steps", "text": "not a PDF",
		"only a header": "damaged", "page tree loop": "damaged", "bomb": "no text layer", "double bomb": "no text layer",
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			doc, err := read(t.Context(), data)
			runtime.ReadMemStats(&after)
			if err == nil && len(doc.Blocks) == 0 {
				t.Error("neither text nor an error")
			}
			if want := limited[name]; want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("error %v, want %q", err, want)
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 1<<10 {
				t.Errorf("%d MiB were allocated", allocated)
			} else {
				t.Logf("%d bytes: %d MiB allocated, error %.120v", len(data), allocated, err)
			}
		})
	}
}

// bombs returns a file with many pages that share a large content.
func bombs() []byte {
	f := pages(helvetica, strings.Repeat(" ", 1<<25))
	f.objects[1] = "<</Type /Pages /Count 24 /Kids ["
	for range 24 {
		f.objects[1] += f.add("<</Type /Page /Parent 2 0 R /Contents 3 0 R>>") + " "
	}
	f.objects[1] += "]>>"
	return f.bytes("")
}

// compressedTable returns a file whose cross-reference table is a stream.
func compressedTable(entries, data string) []byte {
	f := pages(helvetica, column(72, 700, 12, "Some text."))
	f.compressed("/Type /XRef /W [1 8 8] /Root 1 0 R "+entries, data)
	all := f.bytes("")
	table := bytes.Index(all, []byte("5 0 obj"))
	return append(all[:bytes.Index(all, []byte("xref\n0"))], fmt.Sprintf("startxref\n%d\n%%%%EOF\n", table)...)
}

func pageTreeLoop() []byte {
	f := pages(helvetica, "")
	f.objects[1] = "<</Type /Pages /Count 2 /Kids [2 0 R 5 0 R]>>"
	f.add("<</Type /Pages /Parent 2 0 R /Count 1000000000 /Kids [2 0 R 5 0 R 6 0 R]>>")
	f.add("6 0 R")
	return f.bytes("")
}

func doubleBomb() []byte {
	f := pages(helvetica, "")
	data := deflate(deflate(strings.Repeat("\x00", 1<<26)))
	f.objects[2] = fmt.Sprintf("<</Filter [/FlateDecode /FlateDecode] /Length %d>>\nstream\n%s\nendstream", len(data), data)
	return f.bytes("")
}

// forms returns a page with a form that draws another one ten times, and so on.
func forms() []byte {
	f := pages(helvetica+" /XObject <</X 5 0 R>>", "/X Do")
	for i := range 30 {
		f.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources <</XObject <</X %d 0 R>>>>", i+6),
			strings.Repeat("/X Do ", 10))
	}
	f.stream("/Type /XObject /Subtype /Form /BBox [0 0 1 1]", "")
	return f.bytes("")
}

func wideFont(widths string) (resources, content string) {
	return "/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<</Subtype /CIDFontType2 /W " +
		widths + ">>]>>>>", "BT /F1 9 Tf <0041> Tj ET"
}

func mappedFont(ranges string) (resources, content string) {
	return "/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 3 0 R>>>>",
		"1 beginbfrange " + ranges + "endbfrange BT /F1 9 Tf <0041> Tj ET"
}

// objectStreams returns a file with compressed streams of objects, each of a size. Every stream
// contains one object.
func objectStreams(n, size int) []byte {
	f := pages(helvetica, column(72, 700, 12, "Some text."))
	f.objects[0] = "<</Type /Catalog /Pages 2 0 R /X ["
	first := len(f.objects) + 1
	for i := range n {
		number := first + n + i
		f.objects[0] += fmt.Sprintf(" %d 0 R", number)
		prolog := fmt.Sprintf("%d 0 ", number)
		f.stream(fmt.Sprintf("/Type /ObjStm /N 1 /First %d /Filter /FlateDecode", len(prolog)),
			deflate(prolog+"<</A 1>>"+strings.Repeat(" ", size)))
	}
	f.objects[0] += "]>>"
	all := f.bytes("")
	table := bytes.Index(all, []byte("xref\n0"))
	all = all[:table]
	var entries bytes.Buffer
	entries.Write(make([]byte, 7))
	for i := range f.objects {
		entries.WriteByte(1)
		_ = binary.Write(&entries, binary.BigEndian, uint32(bytes.Index(all, fmt.Appendf(nil, "\n%d 0 obj\n", i+1))+1))
		entries.Write([]byte{0, 0})
	}
	for i := range n {
		entries.WriteByte(2)
		_ = binary.Write(&entries, binary.BigEndian, uint32(first+i))
		entries.Write([]byte{0, 0})
	}
	data := deflate(entries.String())
	return fmt.Appendf(all, "%d 0 obj\n<</Type /XRef /W [1 4 2] /Size %d /Root 1 0 R /Filter /FlateDecode /Length %d>>\nstream\n%s\n"+
		"endstream\nendobj\nstartxref\n%d\n%%%%EOF\n", first+2*n, first+2*n, len(data), data, table)
}

// Objects in compressed streams are read, if the streams are not too large.
func TestObjectStreams(t *testing.T) {
	doc, err := read(t.Context(), objectStreams(3, 10))
	if err != nil || len(doc.Blocks) != 1 || doc.Blocks[0].Lines[0] != "Some text." {
		t.Errorf("%v, %v", doc, err)
	}
}

// A file that is cut anywhere is rejected or complete: a page must not be missing silently.
func TestCut(t *testing.T) {
	whole := pages(helvetica, column(72, 700, 12, "One."), column(72, 700, 12, "Two.")).bytes("")
	for n := range whole {
		doc, err := read(t.Context(), whole[:n])
		if err == nil && show(doc) != "title: \n\nOne.\n\nTwo.\n" {
			t.Errorf("after %d bytes: %q", n, show(doc))
		}
		if errors.Is(err, pdf.ErrNoText) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// A file with a page that cannot be read is rejected.
func TestDamagedPage(t *testing.T) {
	whole := pages(helvetica, column(72, 700, 12, "One."), column(72, 700, 12, "Two.")).bytes("")
	if _, err := read(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	deflated := []byte(deflate(column(72, 700, 12, "Two.")))
	for name, change := range map[string][2][]byte{
		"stream":       {deflated, bytes.Repeat([]byte("@"), len(deflated))},
		"no content":   {[]byte("/Contents 5 0 R"), []byte("/Contents 9 0 R")},
		"no page":      {[]byte("6 0 R]"), []byte("9 0 R]")},
		"no page tree": {[]byte("/Pages 2 0 R"), []byte("/Pages 9 0 R")},
	} {
		data := bytes.Replace(whole, change[0], change[1], 1)
		if bytes.Equal(data, whole) {
			t.Fatalf("%s: the file has no %q", name, change[0])
		}
		doc, err := read(t.Context(), data)
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %q, error %v", name, show(doc), err)
		}
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ctx, pages(helvetica, column(72, 700, 12, "One.")).bytes("")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
