package httpstore_test

import (
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
	"evalctl/internal/awaittest"
)

// spy is a server in front of the daemon that records the requests.
type spy struct {
	mu       sync.Mutex
	requests []string
	streams  int // open ones
	server   *httptest.Server
}

func startSpy(t *testing.T, d *daemon) *spy {
	s := &spy{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, endpoint, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/brains/"), "/")
		s.record(r.Method+" "+endpoint, endpoint == "events", +1)
		defer s.record("", endpoint == "events", -1)
		d.api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		d.api.Stop()
		s.server.Close()
	})
	return s
}

func (s *spy) record(request string, stream bool, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if request != "" {
		s.requests = append(s.requests, request)
	}
	if stream {
		s.streams += n
	}
}

// take returns the requests since the last call.
func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// openThrough creates a brain in d and opens it through s.
func openThrough(t *testing.T, d *daemon, s *spy) *store.Store {
	t.Helper()
	info, err := d.brain().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return openAt(t, s.server.URL, info.ID, quiet)
}

// openAt opens a brain of the daemon at url.
func openAt(t *testing.T, url, brain string, opts *store.Options) *store.Store {
	t.Helper()
	c, err := client.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return httpstore.Open(c.Brain(brain), opts)
}

// TestRequests checks the requests that each operation makes.
func TestRequests(t *testing.T) {
	d := startDaemon(t)
	s := startSpy(t, d)
	docs := openThrough(t, d, s)
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
			return docs.Apply(ctx,
				store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "d"},
					{Kind: store.OpRename, Path: "d", To: "e"}}})
		}, "POST documents/batch-ops"},
		{func() error {
			return docs.Apply(ctx, store.Commit{Reason: "why", Ops: []store.Op{{Kind: store.OpDelete, Path: "e"}}})
		}, "POST documents/batch-ops"},
		{func() error { return docs.Apply(ctx, store.Commit{}) }, ""},
		{func() error {
			return docs.Batch(ctx, store.BatchOptions{Reason: "why"}, func(b *store.Batch) error {
				return errors.Join(b.Append(ctx, "a/c", []byte("3")), b.Rename(ctx, "a/c", "x"),
					b.Write(ctx, "x", []byte("4")), b.Delete(ctx, "x"))
			})
		}, "GET documents/stat GET documents/read GET documents/stat POST documents/batch-ops"},
		{func() error { return docs.Batch(ctx, store.BatchOptions{}, func(*store.Batch) error { return nil }) }, ""},
		{func() error { return docs.Delete(ctx, "gone") }, "DELETE documents"},
	} {
		err := tt.do()
		if got := strings.Join(s.take(), " "); got != tt.want {
			t.Errorf("requests %q, want %q (%v)", got, tt.want, err)
		}
	}
}

// TestOneStream: all sinks share one stream. Cancelling the last sink closes it, and the next
// Subscribe opens a new one.
func TestOneStream(t *testing.T) {
	d := startDaemon(t)
	s := startSpy(t, d)
	docs := openThrough(t, d, s)
	defer docs.Close()
	for range 2 {
		received := make(chan string, 10)
		var cancels []func()
		for i := range 3 {
			cancels = append(cancels,
				docs.Subscribe(func(ev store.ChangeEvent) { received <- fmt.Sprint(i, ev.Kind, ev.Path) }))
		}
		if err := docs.Write(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		got := []string{awaittest.Receive(t, "received", received), awaittest.Receive(t, "received", received), awaittest.Receive(t, "received", received)}
		if got[0][0] != '0' || got[1][0] != '1' || got[2][0] != '2' {
			t.Errorf("received %v", got)
		}
		cancels[0]()
		cancels[0]()
		cancels[2]()
		if err := docs.Write(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		if got := awaittest.Receive(t, "received", received); got != "1createdb" && got != "1updatedb" {
			t.Errorf("received %s", got)
		}
		cancels[1]()
	}
	want := []string{"GET events", "PUT documents", "PUT documents", "GET events", "PUT documents", "PUT documents"}
	if requests := s.take(); !slices.Equal(requests, want) {
		t.Errorf("requests %q", requests)
	}
	defer docs.Subscribe(func(store.ChangeEvent) {})()
	if err := docs.Close(); err != nil {
		t.Error(err)
	}
	docs.Subscribe(func(store.ChangeEvent) {})
	d.api.Stop()
	if requests := s.take(); !slices.Equal(requests, []string{"GET events"}) {
		t.Errorf("requests %q before and after closing", requests)
	}
	s.server.Close() // waits for the streams to end
	if s.streams != 0 {
		t.Errorf("%d streams are open", s.streams)
	}
}

// TestChangesOfOtherClients: a store gets events for the changes of other clients.
func TestChangesOfOtherClients(t *testing.T) {
	d := startDaemon(t)
	b := d.brain()
	one, two := httpstore.Open(b, quiet), httpstore.Open(b, quiet)
	defer one.Close()
	defer two.Close()
	received := make(chan store.ChangeEvent, 1)
	defer one.Subscribe(func(ev store.ChangeEvent) { received <- ev })()
	if err := two.Write(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if ev := awaittest.Receive(t, "received", received); ev.Kind != store.Created || ev.Path != "a" || ev.Seq != 0 || !ev.Last || ev.When.IsZero() {
		t.Errorf("%+v", ev)
	}
	if one.Seq() != 0 {
		t.Errorf("seq %d, want 0", one.Seq())
	}
}

// TestReconnect: a stream that breaks is reopened, and invalid events are dropped.
func TestReconnect(t *testing.T) {
	var attempts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch attempts.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			fmt.Fprint(w, "event: ready\ndata: ok\n\nevent: change\ndata: "+
				`{"kind":"deleted","path":"a","when":"2024-05-01T12:00:00.5Z"}`+"\n\nevent: cha")
		default:
			for _, change := range []string{
				`{"kind":"deleted","path":"../a","when":"2024-05-01T12:00:00Z"}`,
				`{"kind":"moved","path":"a","when":"2024-05-01T12:00:00Z"}`,
				`{"kind":"renamed","path":"a","when":"2024-05-01T12:00:00Z"}`,
				`{"kind":"deleted","path":"a","when":"now"}`,
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
	log := &awaittest.Log{}
	docs := openAt(t, server.URL, "b", &store.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	defer docs.Close()
	received := make(chan store.ChangeEvent, 10)
	defer docs.Subscribe(func(ev store.ChangeEvent) { received <- ev })()
	for _, want := range []string{"deleted a  2024-05-01T12:00:00.500Z", "renamed b a 2024-05-01T12:00:00.000Z"} {
		ev := awaittest.Receive(t, "received", received)
		if got := fmt.Sprint(ev.Kind, " ", ev.Path, " ", ev.OldPath, " ", protocol.FormatTime(ev.When)); got != want {
			t.Errorf("received %s, want %s", got, want)
		}
	}
	text := log.String()
	if strings.Count(text, "change event is dropped") != 4 ||
		strings.Count(text, "is not connected") != 2 || !strings.Contains(text, "503") {
		t.Errorf("log: %s", text)
	}
}

// TestCloseWhileConnecting: a daemon that does not respond blocks neither Close nor Subscribe.
func TestCloseWhileConnecting(t *testing.T) {
	requested := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	docs := openAt(t, server.URL, "b", quiet)
	subscribed := make(chan struct{})
	go func() {
		docs.Subscribe(func(store.ChangeEvent) {})
		close(subscribed)
	}()
	awaittest.Receive(t, "requested", requested)
	if err := docs.Close(); err != nil {
		t.Error(err)
	}
	awaittest.Receive(t, "subscribed", subscribed)
}

// TestStatusMapping checks the errors for HTTP statuses (spec 7.1).
func TestStatusMapping(t *testing.T) {
	status := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":%d,"code":"strange","detail":"because"}`, status)
	}))
	defer server.Close()
	docs := openAt(t, server.URL, "b", nil)
	defer docs.Close()
	sentinels := map[int]error{404: store.ErrNotFound, 400: store.ErrInvalidPath, 409: store.ErrConflict}
	for _, status = range []int{400, 401, 403, 404, 409, 413, 415, 429, 500, 503} {
		_, readErr := docs.Read(t.Context(), "a")
		_, statErr := docs.Stat(t.Context(), "a")
		_, listErr := docs.List(t.Context(), "a", store.ListOptions{})
		for _, err := range []error{
			readErr, statErr, listErr, docs.Write(t.Context(), "a", nil),
			docs.Append(t.Context(), "a", nil), docs.Delete(t.Context(), "a"),
			docs.Rename(t.Context(), "a", "b"),
			docs.Apply(t.Context(), store.Commit{Reason: "r", Ops: []store.Op{{Kind: store.OpDelete, Path: "a"}}}),
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

// TestInvalidAnswers: wrong answers of a daemon are errors.
func TestInvalidAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"items":[{"path":"../../etc/passwd","mtime":"2024-05-01T12:00:00.000Z"}]}`: "dot segment",
		`{"items":[{"path":"a","mtime":"yesterday"}]}`:                               "yesterday",
		`{"committed":1}`: "committed 1 of 2",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, answer)
		}))
		docs := openAt(t, server.URL, "b", nil)
		var err error
		if strings.Contains(answer, "items") {
			_, err = docs.List(t.Context(), "", store.ListOptions{})
		} else {
			err = docs.Apply(t.Context(), store.Commit{Ops: twoWrites("a")})
		}
		if err == nil || !strings.Contains(err.Error(), want) || store.IsInvalidPath(err) {
			t.Errorf("%s: %v", answer, err)
		}
		server.Close()
	}
}

func twoWrites(path string) []store.Op {
	return slices.Repeat([]store.Op{{Kind: store.OpWrite, Path: path}}, 2)
}

// TestLargeListing: a directory with more documents than a listing may contain can be listed with
// a glob, and has a time.
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
	remote, err := h.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = remote.Batch(t.Context(), store.BatchOptions{}, func(batch *store.Batch) error {
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
	all, err := docs.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil || len(all) != protocol.MaxListItems+1 || !slices.IsSortedFunc(all, func(a, b store.FileInfo) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d files, %v", len(all), err)
	}
	if files, err := docs.List(t.Context(), "d", store.ListOptions{Glob: "0000?.md"}); err != nil || len(files) != 10 {
		t.Errorf("%d, %v", len(files), err)
	}
}
