package sse

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// recorder records what was written, and how.
type recorder struct {
	header    http.Header
	body      bytes.Buffer
	calls     []string
	deadlines []time.Time
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Write(p []byte) (int, error) {
	r.calls = append(r.calls, "write")
	return r.body.Write(p)
}

func (r *recorder) FlushError() error {
	r.calls = append(r.calls, "flush")
	return nil
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.deadlines = append(r.deadlines, t)
	return nil
}

func newRecorder(t interface{ Fatal(...any) }) (*recorder, *Writer) {
	rec := &recorder{header: http.Header{}}
	w, err := NewWriter(rec, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return rec, w
}

func TestWriterFrames(t *testing.T) {
	tests := []struct {
		name string
		e    Event
		want string
	}{
		{"all", Event{"1", "done", []byte("x")}, "id: 1\nevent: done\ndata: x\n\n"},
		{"only data", Event{Data: []byte("x")}, "data: x\n\n"},
		{"no data", Event{Name: "ping"}, "event: ping\ndata: \n\n"},
		{"line breaks", Event{Data: []byte("a\nb\r\nc\rd\n\re")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\n\n"},
		{"ends with a line break", Event{Data: []byte("a\n")}, "data: a\ndata: \n\n"},
		{"fields in data", Event{Data: []byte("a\n\nevent: fake\ndata: b")}, "data: a\ndata: \ndata: event: fake\ndata: data: b\n\n"},
		{"leading space", Event{Data: []byte(" a")}, "data:  a\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, w := newRecorder(t)
			if err := w.Send(tt.e); err != nil {
				t.Fatal(err)
			}
			if got := rec.body.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if want := []string{"flush", "write", "flush"}; !slices.Equal(rec.calls, want) {
				t.Errorf("calls %v, want %v", rec.calls, want)
			}
		})
	}
}

func TestWriterRefusesControlInIDAndName(t *testing.T) {
	for _, bad := range []string{"a\nb", "\r", "a\x00"} {
		for _, e := range []Event{{ID: bad}, {Name: bad}} {
			rec, w := newRecorder(t)
			if err := w.Send(e); err == nil || rec.body.Len() > 0 {
				t.Errorf("Send(%+v) = %v and wrote %q", e, err, rec.body.String())
			}
		}
	}
}

func TestWriterRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab: \n\r\x00\ufeffdé")))
	plain := rapid.StringMatching(`[a-c: é]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		rec, w := newRecorder(t)
		var want []Event
		id := ""
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			e := Event{ID: plain.Draw(t, "id"), Name: plain.Draw(t, "name"), Data: []byte(text.Draw(t, "data"))}
			if err := w.Send(e); err != nil {
				t.Fatal(err)
			}
			if e.ID != "" {
				id = e.ID
			}
			if e.Name == "" {
				e.Name = "message"
			}
			e.ID = id
			e.Data = bytes.ReplaceAll(bytes.ReplaceAll(e.Data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
			want = append(want, e)
		}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 5).Draw(t, "sizes")
		got, err := readAll(&cutReader{stream: rec.body.Bytes(), sizes: sizes}, 0)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, io.EOF) {
			t.Fatalf("%q ended with %v (-want +got):\n%s", rec.body.String(), err, diff)
		}
	})
}

func TestWriterSetsADeadlineForEachFrame(t *testing.T) {
	before := time.Now()
	rec := &recorder{header: http.Header{}}
	w, err := NewWriter(rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(Event{}); err != nil {
		t.Fatal(err)
	}
	if len(rec.deadlines) != 4 || !rec.deadlines[1].IsZero() || !rec.deadlines[3].IsZero() {
		t.Fatalf("deadlines %v: want one set and cleared for the headers and for the frame", rec.deadlines)
	}
	if d := rec.deadlines[2].Sub(before); d < defaultWriteTimeout || d > defaultWriteTimeout+time.Minute {
		t.Errorf("a frame may take %v, want %v", d, defaultWriteTimeout)
	}
}

func TestWriterNeedsFlush(t *testing.T) {
	rec := httptest.NewRecorder()
	_, err := NewWriter(struct{ http.ResponseWriter }{rec}, 0)
	if !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("got %v, want %v", err, http.ErrNotSupported)
	}
	if rec.Flushed || rec.Body.Len() > 0 {
		t.Error("something was sent")
	}
}

func TestWriterSendsEventsTogether(t *testing.T) {
	rec, w := newRecorder(t)
	before := len(rec.calls)
	events := []Event{{ID: "1", Name: "change", Data: []byte("a")}, {ID: "2", Name: "change", Data: []byte("b\nc")}}
	if err := w.Send(events...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"write", "flush"}, rec.calls[before:]); diff != "" {
		t.Error(diff)
	}
	if got, want := rec.body.String(), "id: 1\nevent: change\ndata: a\n\nid: 2\nevent: change\ndata: b\ndata: c\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rec.body.Reset()
	if err := w.Send(events[0], Event{Name: "a\nb"}); err == nil || rec.body.Len() > 0 {
		t.Errorf("%v, wrote %q", err, rec.body.String())
	}
}
