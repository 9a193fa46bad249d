package converttest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
)

// pdf builds PDF files from their objects. Object n is pdf[n-1]; the first is the catalog.
type pdf []string

// stream adds a stream with more entries of its dictionary.
func (f *pdf) stream(entries, data string) {
	*f = append(*f, fmt.Sprintf("<<%s /Length %d>>\nstream\n%s\nendstream", entries, len(data), data))
}

func deflate(data string) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return b.String()
}

const helvetica = "/Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>"

// onePage returns a file with one page, whose content is object 4.
func onePage(resources, entries, content string) pdf {
	f := pdf{
		"<</Type /Catalog /Pages 2 0 R>>",
		"<</Type /Pages /Count 1 /Kids [3 0 R]>>",
		"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources <<" + resources + ">>>>",
	}
	f.stream(entries, content)
	return f
}

// objects returns the objects with their offsets.
func (f pdf) objects() ([]byte, []int) {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(f))
	for i, object := range f {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return b.Bytes(), offsets
}

// bytes returns the file. repeated further entries of its table repeat the offset of its last
// object.
func (f pdf) bytes(repeated int) []byte {
	data, offsets := f.objects()
	for range repeated {
		offsets = append(offsets, offsets[len(f)-1])
	}
	b := bytes.NewBuffer(data)
	start := b.Len()
	fmt.Fprintf(b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(b, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

// compact returns the file with its table and more objects in compressed streams. Each stream has
// one copy of a text, or listed copies.
func (f pdf) compact(streams int, text string, listed int) []byte {
	number := len(f) + streams + 1
	var inside []int // the stream of each object that the table has
	for range streams {
		// Only the first of the listed objects is in the table.
		list := strings.Repeat(fmt.Sprintf("%d 0 ", number), listed)
		number++
		f.stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d /Filter /FlateDecode", listed, len(list)), deflate(list+text))
		inside = append(inside, len(f))
	}
	data, offsets := f.objects()
	var table bytes.Buffer
	entry := func(kind byte, where int) {
		table.WriteByte(kind)
		_ = binary.Write(&table, binary.BigEndian, uint32(where))
		_ = binary.Write(&table, binary.BigEndian, uint16(0))
	}
	entry(0, 0)
	for _, offset := range offsets {
		entry(1, offset)
	}
	for _, of := range inside {
		entry(2, of)
	}
	packed := deflate(table.String())
	return fmt.Appendf(data, "%d 0 obj\n<</Type /XRef /W [1 4 2] /Size %d /Root 1 0 R /Filter /FlateDecode /Length %d>>\n"+
		"stream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", number, number, len(packed), packed, len(data))
}
