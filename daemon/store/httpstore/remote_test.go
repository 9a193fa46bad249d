package httpstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/httpstore"
	"evalctl/daemon/store/memstore"
)

// spy is a proxy before the daemon that writes down what is asked.
type spy struct {
	mu      sync.Mutex
	asked   []string
	streams int // that stand
	server  *httptest.Server
}

func startSpy(t *testing.T, d *daemon) *spy {
	s := &spy{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, endpoint, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
		s.note(r.Method+" "+endpoint, endpoint == "events", +1)
		defer s.note("", endpoint == "events", -1)
		d.api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		d.api.Stop()
		s.server.Close()
	})
	return s
}

func (s *spy) note(asked string, stream bool, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked != "" {
		s.asked = append(s.asked, asked)
	}
	if stream {
		s.streams += n
	}
}

func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// through is the brain of d as seen through s.
func through(t *testing.T, d *daemon, s *spy) *store.Store {
	t.Helper()
	info, err := d.brain().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return httpstore.Open(c.Brain(info.ID), quiet)
}

// TestRequests: what each operation costs.
func TestRequests(t *testing.T) {
	d := startDaemon(t)
	s := startSpy(t, d)
	docs := through(t, d, s)
	defer docs.Close()
	ctx := t.Context()
	for _, tt := range []struct {
		do   func() error
		want string
	}{
		{func() error { return docs.Write(ctx, "a/b", []byte("1")) }, "PUT documents"},
		{func() error { return docs.Append(ctx, "a/b", []byte("2")) }, "POST documents/append"},
		{func() error { return docs.Rename(ctx, "a/b", "a/c") }, "POST documents/rename"},
		{func() error { _, err := docs.List(ctx, "", store.ListOptions{}); return err }, "GET documents"},
		{func() error { _, err := docs.Stat(ctx, "a"); return err }, "GET documents/stat"},
		{func() error {
			return docs.Apply(ctx, store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "d"}, {Kind: store.OpRename, Path: "d", To: "e"}}})
		}, "POST documents/batch-ops"},
		{func() error {
			return docs.Apply(ctx, store.Commit{Reason: "why", Ops: []store.Op{{Kind: store.OpDelete, Path: "e"}}})
		}, "POST documents/batch-ops"},
		{func() error { return docs.Apply(ctx, store.Commit{}) }, ""},
		{func() error {
			return docs.Batch(ctx, store.BatchOptions{Reason: "why"}, func(b *store.Batch) error {
				return errors.Join(b.Append(ctx, "a/c", []byte("3")), b.Rename(ctx, "a/c", "x"), b.Write(ctx, "x", []byte("4")), b.Delete(ctx, "x"))
			})
		}, "GET documents/stat GET documents/read GET documents/stat POST documents/batch-ops"},
		{func() error { return docs.Batch(ctx, store.BatchOptions{}, func(*store.Batch) error { return nil }) }, ""},
		{func() error { return docs.Delete(ctx, "gone") }, "DELETE documents"},
	} {
		err := tt.do()
		if got := strings.Join(s.take(), " "); got != tt.want {
			t.Errorf("asked %q, want %q (%v)", got, tt.want, err)
		}
	}
}

// TestOneStream: sinks share it, the last one closes it, the next one opens
// another.
func TestOneStream(t *testing.T) {
	d := startDaemon(t)
	s := startSpy(t, d)
	docs := through(t, d, s)
	defer docs.Close()
	for range 2 {
		heard := make(chan string, 10)
		var cancels []func()
		for i := range 3 {
			cancels = append(cancels, docs.Subscribe(func(ev store.ChangeEvent) { heard <- fmt.Sprint(i, ev.Kind, ev.Path) }))
		}
		if err := docs.Write(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		got := []string{<-heard, <-heard, <-heard}
		if got[0][0] != '0' || got[1][0] != '1' || got[2][0] != '2' {
			t.Errorf("heard %v", got)
		}
		cancels[0]()
		cancels[0]()
		cancels[2]()
		if err := docs.Write(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != "1createdb" && got != "1updatedb" {
			t.Errorf("heard %s", got)
		}
		cancels[1]()
	}
	if asked := s.take(); !slices.Equal(asked, []string{"GET events", "PUT documents", "PUT documents", "GET events", "PUT documents", "PUT documents"}) {
		t.Errorf("asked %q", asked)
	}
	defer docs.Subscribe(func(store.ChangeEvent) {})()
	if err := docs.Close(); err != nil {
		t.Error(err)
	}
	docs.Subscribe(func(store.ChangeEvent) {})
	d.api.Stop()
	if asked := s.take(); !slices.Equal(asked, []string{"GET events"}) {
		t.Errorf("asked %q around the end", asked)
	}
	s.server.Close() // waits for the streams to end
	if s.streams != 0 {
		t.Errorf("%d streams stand", s.streams)
	}
}

// TestOthersChanges come too.
func TestOthersChanges(t *testing.T) {
	d := startDaemon(t)
	b := d.brain()
	one, two := httpstore.Open(b, quiet), httpstore.Open(b, quiet)
	defer one.Close()
	defer two.Close()
	heard := make(chan store.ChangeEvent, 1)
	defer one.Subscribe(func(ev store.ChangeEvent) { heard <- ev })()
	if err := two.Write(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if ev := <-heard; ev.Kind != store.Created || ev.Path != "a" || ev.Seq != 0 || !ev.Last || ev.When.IsZero() {
		t.Errorf("%+v", ev)
	}
	if one.Seq() != 0 {
		t.Errorf("numbered %d", one.Seq())
	}
}

// lockedLog is written by the goroutine that reads the stream.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestReconnect: a stream that breaks off is opened again, and events that make
// no sense are dropped.
func TestReconnect(t *testing.T) {
	var attempts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {

		switch attempts.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			fmt.Fprint(w, "event: ready\ndata: ok\n\nevent: change\ndata: {\"kind\":\"deleted\",\"path\":\"a\",\"when\":\"2024-05-01T12:00:00.5Z\"}\n\nevent: cha")
		default:
			for _, change := range []string{
				`{"kind":"deleted","path":"../a","when":"2024-05-01T12:00:00Z"}`, `{"kind":"moved","path":"a","when":"2024-05-01T12:00:00Z"}`,
				`{"kind":"renamed","path":"a","when":"2024-05-01T12:00:00Z"}`, `{"kind":"deleted","path":"a","when":"now"}`,
				`{"kind":"renamed","path":"b","old_path":"a","reason":"r","when":"2024-05-01T14:00:00+02:00"}`,
			} {
				fmt.Fprintf(w, "event: change\ndata: %s\n\n", change)
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	c, err := client.New(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	log := &lockedLog{}
	docs := httpstore.Open(c.Brain("b"), &store.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	defer docs.Close()
	heard := make(chan store.ChangeEvent, 10)
	defer docs.Subscribe(func(ev store.ChangeEvent) { heard <- ev })()
	for _, want := range []string{"deleted a  2024-05-01T12:00:00.500Z", "renamed b a 2024-05-01T12:00:00.000Z"} {
		ev := <-heard
		if got := fmt.Sprint(ev.Kind, " ", ev.Path, " ", ev.OldPath, " ", protocol.FormatTime(ev.When)); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	text := log.String()
	if strings.Count(text, "change event is dropped") != 4 || strings.Count(text, "is not connected") != 2 || !strings.Contains(text, "503") {
		t.Errorf("log: %s", text)
	}
}

// TestCloseWhileAttaching: a daemon that says nothing holds nobody up.
func TestCloseWhileAttaching(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	c, err := client.New(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	docs := httpstore.Open(c.Brain("b"), quiet)
	subscribed := make(chan struct{})
	go func() {
		docs.Subscribe(func(store.ChangeEvent) {})
		close(subscribed)
	}()
	<-asked
	if err := docs.Close(); err != nil {
		t.Error(err)
	}
	<-subscribed
}

// TestStatusMapping is spec 7.1.
func TestStatusMapping(t *testing.T) {
	status := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":%d,"code":"strange","detail":"because"}`, status)
	}))
	defer server.Close()
	c, err := client.New(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	docs := httpstore.Open(c.Brain("b"), nil)
	defer docs.Close()
	sentinels := map[int]error{404: store.ErrNotFound, 400: store.ErrInvalidPath, 409: store.ErrConflict}
	for _, status = range []int{400, 401, 403, 404, 409, 413, 415, 429, 500, 503} {
		_, readErr := docs.Read(t.Context(), "a")
		_, statErr := docs.Stat(t.Context(), "a")
		_, listErr := docs.List(t.Context(), "a", store.ListOptions{})
		for _, err := range []error{
			readErr, statErr, listErr, docs.Write(t.Context(), "a", nil), docs.Append(t.Context(), "a", nil), docs.Delete(t.Context(), "a"),
			docs.Rename(t.Context(), "a", "b"), docs.Apply(t.Context(), store.Commit{Reason: "r", Ops: []store.Op{{Kind: store.OpDelete, Path: "a"}}}),
		} {
			var got []error
			for _, s := range []error{store.ErrNotFound, store.ErrInvalidPath, store.ErrConflict, store.ErrReadOnly} {
				if errors.Is(err, s) {
					got = append(got, s)
				}
			}
			want := slices.DeleteFunc([]error{sentinels[status]}, func(e error) bool { return e == nil })
			if !slices.Equal(got, want) {
				t.Errorf("%d: %v is %v", status, err, got)
			}
			e, ok := errors.AsType[*client.Error](err)
			_, wrapped := errors.AsType[*store.Error](err)
			if !ok || !wrapped || e.Problem.Code != "strange" || !strings.Contains(err.Error(), "because") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}

// TestLiars: what a daemon answers is not believed blindly.
func TestLiars(t *testing.T) {
	for answer, want := range map[string]string{
		`{"items":[{"path":"../../etc/passwd","mtime":"2024-05-01T12:00:00.000Z"}]}`: "dot segment",
		`{"items":[{"path":"a","mtime":"yesterday"}]}`:                               "yesterday",
		`{"committed":1}`: "committed 1 of 2",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		c, err := client.New(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		docs := httpstore.Open(c.Brain("b"), nil)
		if strings.Contains(answer, "items") {
			_, err = docs.List(t.Context(), "", store.ListOptions{})
		} else {
			err = docs.Apply(t.Context(), store.Commit{Ops: make2("a")})
		}
		if err == nil || !strings.Contains(err.Error(), want) || store.IsInvalidPath(err) {
			t.Errorf("%s: %v", answer, err)
		}
		c.Close()
		server.Close()
	}
}

func make2(path string) []store.Op {
	return slices.Repeat([]store.Op{{Kind: store.OpWrite, Path: path}}, 2)
}

// TestLargeListing: a wide directory can be narrowed, and its time asked for.
func TestLargeListing(t *testing.T) {
	d := startDaemon(t)
	b := d.brain()
	info, err := b.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.brains.Find(info.ID)
	if err != nil {
		t.Fatal(err)
	}
	far, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = far.Batch(t.Context(), store.BatchOptions{}, func(batch *store.Batch) error {
		for i := range protocol.MaxListItems + 1 {
			if err := batch.Write(t.Context(), fmt.Sprintf("d/%05d.md", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	docs := httpstore.Open(b, quiet)
	defer docs.Close()
	top, err := docs.List(t.Context(), "", store.ListOptions{})
	if err != nil || len(top) != 1 || top[0].Path != "d" {
		t.Errorf("%v, %v", top, err)
	}
	dir, err := docs.Stat(t.Context(), "d")
	if diff := cmp.Diff(top, []store.FileInfo{dir}); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if files, err := docs.List(t.Context(), "d", store.ListOptions{Glob: "0000?.md"}); err != nil || len(files) != 10 {
		t.Errorf("%d, %v", len(files), err)
	}
}

// BenchmarkWrite compares a write over HTTP with one in memory, and with the
// plainest request there is.
func BenchmarkWrite(b *testing.B) {
	d := startDaemon(b)
	data := bytes.Repeat([]byte("x"), 1024)
	far, near := httpstore.Open(d.brain(), quiet), memstore.Open(quiet)
	defer far.Close()
	defer near.Close()
	for name, write := range map[string]func(context.Context) error{
		"httpstore": func(ctx context.Context) error { return far.Write(ctx, "notes/a.md", data) },
		"memstore":  func(ctx context.Context) error { return near.Write(ctx, "notes/a.md", data) },
		"healthz": func(ctx context.Context) error {
			_, err := d.client.Health(ctx)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := write(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
