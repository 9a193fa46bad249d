package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"strings"

	"evalctl/daemon/convert/budget"
	"evalctl/daemon/convert/pdf"
)

// read reads a file with as much memory as there ever is.
func read(ctx context.Context, data []byte) (pdf.Document, error) {
	return pdf.Read(ctx, budget.NewMeter(ctx, 384<<20, len(data)), data)
}

// file builds PDF files from their objects. Object n is objects[n-1]; the first is the catalog.
type file struct{ objects []string }

// add adds an object and returns a reference to it.
func (f *file) add(format string, args ...any) string {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	f.objects = append(f.objects, format)
	return fmt.Sprintf("%d 0 R", len(f.objects))
}

// stream adds a stream. The entries are those of its dictionary besides the length.
func (f *file) stream(entries, data string) string {
	return f.add("%s", fmt.Sprintf("<<%s /Length %d>>\nstream\n%s\nendstream", entries, len(data), data))
}

// compressed adds a compressed stream.
func (f *file) compressed(entries, data string) string {
	return f.stream(entries+" /Filter /FlateDecode", deflate(data))
}

func deflate(data string) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return b.String()
}

// bytes returns the file. More entries of its trailer may be given.
func (f *file) bytes(trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(f.objects))
	for i, object := range f.objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(f.objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", len(f.objects)+1, trailer, start)
	return b.Bytes()
}

// pages returns a file whose pages have the given contents, with the given resources.
func pages(resources string, contents ...string) *file {
	f := &file{objects: []string{"<</Type /Catalog /Pages 2 0 R>>", ""}}
	var kids []string
	for _, content := range contents {
		stream := f.compressed("", content)
		kids = append(kids, f.add("<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %s>>", stream))
	}
	f.objects[1] = fmt.Sprintf("<</Type /Pages /Count %d /Resources <<%s>> /Kids [%s]>>",
		len(kids), resources, strings.Join(kids, " "))
	return f
}

const helvetica = "/Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>>>"

// column returns content that shows lines below each other from a position.
func column(x, y, size float64, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BT /F1 %g Tf %g TL %g %g Td\n", size, 1.2*size, x, y)
	for _, line := range lines {
		line = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line)
		fmt.Fprintf(&b, "(%s) Tj T*\n", line)
	}
	b.WriteString("ET\n")
	return b.String()
}
