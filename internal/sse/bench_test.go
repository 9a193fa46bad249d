package sse

import (
	"bufio"
	"bytes"
	"slices"
	"testing"
)

func BenchmarkReader(b *testing.B) {
	delta := []byte("event: answer_delta\ndata: {\"delta\":\"a few words of an answer \"}\n\n")
	large := slices.Concat([]byte("data: "), bytes.Repeat([]byte("x"), 1<<20), []byte("\n\n"))
	manyLines := slices.Concat(bytes.Repeat([]byte("data: a line of some fifty bytes, as documents have\n"), 20_000), []byte("\n"))
	for _, bb := range []struct {
		name   string
		stream []byte
		read   int
	}{
		{"deltas", bytes.Repeat(delta, 1000), readSize},
		{"deltas, CR", bytes.ReplaceAll(bytes.Repeat(delta, 1000), []byte("\n"), []byte("\r")), readSize},
		{"1MiB lines", manyLines, readSize},
		{"1MiB event", large, readSize},
		{"1MiB event in 1400 B reads", large, 1400},
		{"8MiB event in 1400 B reads", slices.Concat(large[:len(large)-2], bytes.Repeat(large[6:len(large)-2], 7), []byte("\n\n")), 1400},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.stream)))
			b.ReportAllocs()
			r := NewReader(&endlessCut{endless{stream: bb.stream}, bb.read}, 0)
			events := bytes.Count(bb.stream, []byte("\n\n")) + bytes.Count(bb.stream, []byte("\r\r"))
			for b.Loop() {
				for range events {
					if _, err := r.Next(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		if !bytes.Contains(bb.stream, []byte("\n")) {
			continue
		}
		// The baseline: only finding the lines of the same stream.
		b.Run("bufio.Scanner lines/"+bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.stream)))
			b.ReportAllocs()
			lines := bufio.NewScanner(&endlessCut{endless{stream: bb.stream}, bb.read})
			lines.Buffer(make([]byte, readSize), MaxEvent)
			for b.Loop() {
				for range bytes.Count(bb.stream, []byte("\n")) {
					if !lines.Scan() {
						b.Fatal(lines.Err())
					}
				}
			}
		})
	}
}

// endlessCut returns at most size bytes from each Read.
type endlessCut struct {
	endless
	size int
}

func (e *endlessCut) Read(p []byte) (int, error) { return e.endless.Read(p[:min(e.size, len(p))]) }
