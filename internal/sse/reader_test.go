package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readAll returns copies of all events, and the error that ended the stream.
func readAll(src io.Reader, limit int) ([]Event, error) {
	r := NewReader(src, limit)
	var events []Event
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		e.Data = slices.Clone(e.Data)
		events = append(events, e)
	}
}

// TestReset: a reader that stopped anywhere in one stream reads the next one as a new reader would.
func TestReset(t *testing.T) {
	for _, first := range streams {
		for n := range len(first.stream) + 1 {
			r := NewReader(strings.NewReader(first.stream[:n]), len("7ey"))
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			r.Reset(strings.NewReader("\ufeffdata: x\n\nid: 7\nevent: e\ndata: y\n\n"))
			one, err := r.Next()
			if err != nil || one.ID != "" || one.Name != "message" || string(one.Data) != "x" {
				t.Fatalf("after %q: got %+v, %v", first.stream[:n], one, err)
			}
			two, err := r.Next()
			if err != nil || two.ID != "7" || two.Name != "e" || string(two.Data) != "y" {
				t.Fatalf("after %q: got %+v, %v", first.stream[:n], two, err)
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("after %q: ended with %v", first.stream[:n], err)
			}
		}
	}
}

// cutReader returns the next piece from each Read. The sizes of the pieces repeat.
type cutReader struct {
	stream []byte
	sizes  []int
	next   int
}

func (c *cutReader) Read(p []byte) (int, error) {
	if len(c.stream) == 0 {
		return 0, io.EOF
	}
	size := c.sizes[c.next%len(c.sizes)]
	c.next++
	n := copy(p[:min(size, len(p))], c.stream)
	c.stream = c.stream[n:]
	return n, nil
}

var chunkings = []struct {
	name string
	cut  func(io.Reader) io.Reader
}{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"bytewise", iotest.OneByteReader},
	{"halves", iotest.HalfReader},
	{"data with EOF", iotest.DataErrReader},
}

func event(name, data string) Event { return Event{Name: name, Data: []byte(data)} }

func msg(data string) Event { return event("message", data) }

var streams = []struct {
	name   string
	stream string
	want   []Event
	cut    bool // the stream ends inside an event
}{
	{"empty", "", nil, false},
	{"LF", "data: a\n\ndata: b\n\n", []Event{msg("a"), msg("b")}, false},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []Event{msg("a"), msg("b")}, false},
	{"CR", "data: a\r\rdata: b\r\r", []Event{msg("a"), msg("b")}, false},
	{"mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\n", []Event{msg("a\nb\nc")}, false},
	{"LF CR are two line ends", "data: a\n\rdata: b\n\n", []Event{msg("a"), msg("b")}, false},
	{"CR then CRLF", "data: a\r\r\ndata: b\n\n", []Event{msg("a"), msg("b")}, false},
	{"LF after CRLF is a blank line", "data: a\r\n\ndata: b\n\n", []Event{msg("a"), msg("b")}, false},
	{"leading BOM", "\ufeffdata: a\n\n", []Event{msg("a")}, false},
	{"only a BOM", "\ufeff", nil, false},
	{"BOM before a blank line", "\ufeff\ndata: a\n\n", []Event{msg("a")}, false},
	{"BOM before a comment", "\ufeff: c\ndata: a\n\n", []Event{msg("a")}, false},
	{"second BOM is part of a name", "\ufeff\ufeffdata: a\ndata: b\n\n", []Event{msg("b")}, false},
	{"BOM on the second line", "\n\ufeffdata: a\ndata: b\n\n", []Event{msg("b")}, false},
	{"BOM after a field", "data: a\n\ufeffdata: b\n\n", []Event{msg("a")}, false},
	{"BOM in data", "data:\ufeffa\n\n", []Event{msg("\ufeffa")}, false},
	{"several data lines", "data: YHOO\ndata: +2\ndata: 10\n\n", []Event{msg("YHOO\n+2\n10")}, false},
	{"no space", "data:a\n\n", []Event{msg("a")}, false},
	{"one space removed of two", "data:  a \n\n", []Event{msg(" a ")}, false},
	{"tab kept", "data:\ta\n\n", []Event{msg("\ta")}, false},
	{"colon in data", "data: a: b\n\n", []Event{msg("a: b")}, false},
	{"empty data", "data\n\ndata:\n\ndata: \n\n", []Event{msg(""), msg(""), msg("")}, false},
	{"two fields without colon", "data\ndata\n\n", []Event{msg("\n")}, false},
	{"empty line of data first", "data:\ndata: a\n\n", []Event{msg("\na")}, false},
	{"no data, no event", "event: x\nid: 1\n\ndata: a\n\n", []Event{{ID: "1", Name: "message", Data: []byte("a")}}, false},
	{"comments", ": ping\n\n:\n:data: x\ndata: a\n: in between\ndata: b\n\n", []Event{msg("a\nb")}, false},
	{"named", "event: done\ndata: a\n\ndata: b\n\n", []Event{event("done", "a"), msg("b")}, false},
	{"last name wins", "event: a\nevent: b\ndata: x\n\n", []Event{event("b", "x")}, false},
	{"empty name", "event: a\nevent\ndata: x\n\n", []Event{msg("x")}, false},
	{"name in two lines of one event", "data: 1\nevent: n\ndata: 2\n\n", []Event{event("n", "1\n2")}, false},
	{"unknown fields", "datas: x\ndat: x\nDATA: x\n data: x\ndata : x\nretry: 10\nretry: x\ndata: a\n\n", []Event{msg("a")}, false},
	{"names cut at no length", "datax: x\neventx: x\nidx: x\ndata: a\n\n", []Event{msg("a")}, false},
	{"long unknown field", strings.Repeat("data", 20) + ": x\ndata: a\n\n", []Event{msg("a")}, false},
	{"id lasts", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
		[]Event{{"7", "message", []byte("a")}, {"7", "message", []byte("b")}, msg("c")}, false},
	{"id with NUL", "id: 7\ndata: a\n\nid: 8\x009\ndata: b\n\n",
		[]Event{{"7", "message", []byte("a")}, {"7", "message", []byte("b")}}, false},
	{"NUL in data and name", "event: a\x00\ndata: b\x00\n\n", []Event{event("a\x00", "b\x00")}, false},
	{"invalid UTF-8 kept", "data: \xff\xfe\n\n", []Event{msg("\xff\xfe")}, false},
	{"blank lines", "\n\r\r\n\n", nil, false},
	{"ends after a comment", "data: a\n\n: bye\n", []Event{msg("a")}, false},
	{"unfinished line", "data: a\n\ndata: b", []Event{msg("a")}, true},
	{"unfinished event", "data: a\n\ndata: b\n", []Event{msg("a")}, true},
	{"unfinished event, CRLF", "data: a\r\n", nil, true},
	{"unfinished event without data", "data: a\n\nid: 1\n", []Event{msg("a")}, true},
	{"cut in a field name", "data: a\n\nda", []Event{msg("a")}, true},
	{"cut after the colon", "data: a\n\ndata:", []Event{msg("a")}, true},
	{"cut in a comment", "data: a\n\n: by", []Event{msg("a")}, true},
}

func TestReader(t *testing.T) {
	for _, tt := range streams {
		for _, c := range chunkings {
			t.Run(tt.name+"/"+c.name, func(t *testing.T) {
				got, err := readAll(c.cut(strings.NewReader(tt.stream)), 0)
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("events of %q (-want +got):\n%s", tt.stream, diff)
				}
				want := io.EOF
				if tt.cut {
					want = io.ErrUnexpectedEOF
				}
				if !errors.Is(err, want) {
					t.Errorf("%q ended with %v, want %v", tt.stream, err, want)
				}
			})
		}
	}
}

func TestReaderDispatchesOnCRAtOnce(t *testing.T) {
	for _, end := range []string{"\r\r", "\n\r", "\r\n\r", "\n\n"} {
		pr, pw := io.Pipe()
		go func() { _, _ = io.WriteString(pw, "data: now"+end) }() // and nothing more
		e, err := NewReader(pr, 0).Next()
		if err != nil || string(e.Data) != "now" {
			t.Errorf("after %q: got %q, %v", end, e.Data, err)
		}
		_ = pr.Close()
	}
}

func TestReaderLimit(t *testing.T) {
	const limit = 10
	tests := []struct {
		name, stream string
		tooLarge     bool
	}{
		{"data at the limit", "data: 0123456789\n\n", false},
		{"data above", "data: 01234567890\n\n", true},
		{"above before the line ends", "data: 01234567890", true},
		{"joins count", "data: 01234\ndata: 5678\n\n", false},
		{"joins count, above", "data: 01234\ndata: 56789\n\n", true},
		{"many empty lines", strings.Repeat("data\n", 12) + "\n", true},
		{"name and id count", "event: 01234\nid: 567\ndata: 89\n\n", false},
		{"name and id count, above", "event: 01234\nid: 567\ndata: 890\n\n", true},
		{"long id", "id: 01234567890", true},
		{"comments and unknown fields do not", ": 01234567890\nx: 01234567890\ndata: 0123456789\n\n", false},
		{"each event by itself", "data: 0123456789\n\nevent: 0123456789\n\ndata: 0123456789\n\n", false},
	}
	for _, tt := range tests {
		for _, c := range chunkings {
			t.Run(tt.name+"/"+c.name, func(t *testing.T) {
				_, err := readAll(c.cut(strings.NewReader(tt.stream)), limit)
				if errors.Is(err, ErrTooLarge) != tt.tooLarge {
					t.Fatalf("got %v, want too large: %v", err, tt.tooLarge)
				}
				if tt.tooLarge && !strings.Contains(err.Error(), "10 bytes") {
					t.Errorf("%q does not name the limit", err)
				}
			})
		}
	}
}

func TestReaderErrorsStay(t *testing.T) {
	broken := errors.New("connection reset")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Fatalf("the event before the error: got %q, %v", e.Data, err)
	}
	_, first := r.Next()
	if !errors.Is(first, broken) || errors.Is(first, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the read error", first)
	}
	if _, second := r.Next(); !errors.Is(second, first) {
		t.Errorf("second error %v differs from %v", second, first)
	}

	r = NewReader(strings.NewReader("data: too long\n\ndata: b\n\n"), 3)
	for range 2 {
		if e, err := r.Next(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("after an event too large: got %q, %v", e.Data, err)
		}
	}
}

func TestReaderLargestEvent(t *testing.T) {
	data := bytes.Repeat([]byte("x"), MaxEvent)
	stream := slices.Concat([]byte("data: "), data, []byte("\n\ndata: after\n\n"))
	got, err := readAll(&cutReader{stream: stream, sizes: []int{1400, 16 << 10, 1}}, 0)
	if !errors.Is(err, io.EOF) || len(got) != 2 || !bytes.Equal(got[0].Data, data) || string(got[1].Data) != "after" {
		t.Errorf("got %d events, %v", len(got), err)
	}
	stream = slices.Concat([]byte("data: "), data, []byte("y\n\n"))
	if _, err := readAll(bytes.NewReader(stream), 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: got %v", err)
	}
}

// endless repeats a stream forever.
type endless struct {
	stream []byte
	at     int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.stream[e.at:])
	e.at = (e.at + n) % len(e.stream)
	return n, nil
}

func TestReaderReusesItsBuffers(t *testing.T) {
	stream := ": ping\n" + strings.Repeat("event: answer_delta\ndata: {\"delta\":\"word\"}\ndata: 2\n\n", 7) +
		"unknown: " + strings.Repeat("z", 3*readSize) + "\n"
	r := NewReader(&endless{stream: []byte(stream)}, 64)
	next := func() {
		if e, err := r.Next(); err != nil || e.Name != "answer_delta" {
			t.Fatalf("got %v, %v", e, err)
		}
	}
	next()
	if allocs := testing.AllocsPerRun(1000, next); allocs != 0 {
		t.Errorf("an event like the one before costs %v allocations", allocs)
	}
}

func ExampleReader() {
	r := NewReader(strings.NewReader("event: answer_delta\ndata: {\"delta\":\"Paris\"}\n\ndata: cut"), 0)
	for {
		e, err := r.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s\n", e.Name, e.Data)
	}
	// Output:
	// answer_delta {"delta":"Paris"}
	// event stream ended inside an event: unexpected EOF
}
