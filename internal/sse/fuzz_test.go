package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestReaderRandomCuts(t *testing.T) {
	pieces := []string{"data", "event", "id", "retry", "x", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "\x00", "\ufeff", "é", "data: a\n"}
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 5).Draw(t, "sizes")
		checkAgainstWholeText(t, []byte(stream), sizes)
	})
}

func FuzzReader(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(tt.stream), uint8(3), uint8(8))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size, limit uint8) {
		sizes := []int{int(size%32) + 1, 1, int(limit%7) + 1}
		checkAgainstWholeText(t, stream, sizes)

		got, err := readAll(&cutReader{stream: stream, sizes: sizes}, int(limit)+1)
		want, wantErr := readAll(iotest.OneByteReader(bytes.NewReader(stream)), int(limit)+1)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err.Error() != wantErr.Error() {
			t.Errorf("limit %d: %q cut at %v ends with %v, bytewise with %v (-bytewise +cut):\n%s", limit+1, stream, sizes, err, wantErr, diff)
		}
	})
}

func checkAgainstWholeText(t interface{ Errorf(string, ...any) }, stream []byte, sizes []int) {
	want, cut := parseWhole(string(stream))
	wantErr := io.EOF
	if cut {
		wantErr = io.ErrUnexpectedEOF
	}
	for _, src := range []io.Reader{
		bytes.NewReader(stream),
		iotest.OneByteReader(bytes.NewReader(stream)),
		&cutReader{stream: stream, sizes: sizes},
	} {
		got, err := readAll(src, 0)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, wantErr) {
			t.Errorf("%T: %q cut at %v ended with %v, want %v (-want +got):\n%s", src, stream, sizes, err, wantErr, diff)
		}
	}
}

// parseWhole is the specification's algorithm on a whole text, written as plainly as possible, as a
// reference for the incremental reader.
func parseWhole(stream string) (events []Event, cut bool) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	lines := strings.Split(stream, "\n")
	var id, name, data string
	var pending bool
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != "" {
				e := msg(strings.TrimSuffix(data, "\n"))
				e.ID = id
				if name != "" {
					e.Name = name
				}
				events = append(events, e)
			}
			name, data, pending = "", "", false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		pending = pending || field != ""
		switch {
		case field == "data":
			data += value + "\n"
		case field == "event":
			name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		}
	}
	return events, pending || lines[len(lines)-1] != ""
}
