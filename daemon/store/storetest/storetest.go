// Package storetest is the contract of store.Store as tests that every backend
// runs: Run has one case a promise, RunModel compares long random histories
// with a plain map.
package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
)

// Run tests the stores that open returns; each case gets a fresh, empty one
// and closes it. What a backend cannot do is read from the store.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	groups := []struct {
		name  string
		cases []scenario
	}{
		{"read", reads}, {"open", opens}, {"write", writes}, {"append", appends}, {"delete", deletes},
		{"rename", renames}, {"tree", trees}, {"list", lists}, {"batch", batches},
		{"apply", applies}, {"events", deliveries}, {"closed", closings}, {"context", contexts},
		{"concurrent", concurrents}, {"local path", locals}, {"version", versions},
		{"path", pathCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
			}
		})
	}
}

// scenario is one case. Stores and events are written as text: a store as
// "path=content" pairs ascending by path, events as kind and path, where a
// rename is "renamed from>to".
type scenario struct {
	name   string
	before string // what the store holds at first
	do     func(*probe) error
	fails  error  // what the error of do must wrap; the store must be as before
	after  string // what the store holds at the end, unless do only reads
	events string // what do must have published
	reads  bool   // do changes nothing
}

func (c scenario) run(t *testing.T, s *store.Store) {
	p := &probe{T: t, Store: s, ctx: t.Context()}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	p.fill(c.before)
	rec := record(p)
	defer rec.cancel()
	err := c.do(p)
	if !errors.Is(err, c.fails) {
		t.Fatalf("got error %v, want %v", err, c.fails)
	}
	want := c.after
	if c.reads || c.fails != nil {
		want = c.before
	}
	if err := s.Write(p.ctx, "canary", nil); store.IsReadOnly(err) {
		return // closed by the case
	} else if err != nil {
		t.Fatalf("store is unusable afterwards: %v", err)
	}
	if err := s.Delete(p.ctx, "canary"); err != nil {
		t.Fatal(err)
	}
	if got := p.dump(); got != want {
		t.Errorf("store holds %q, want %q", got, want)
	}
	events := strings.TrimPrefix(c.events+", created canary, deleted canary", ", ")
	rec.want(events)
}

// probe is what a case works with.
type probe struct {
	*testing.T
	*store.Store
	ctx context.Context
}

func (p *probe) fill(docs string) {
	p.Helper()
	for doc := range strings.FieldsSeq(docs) {
		path, content, _ := strings.Cut(doc, "=")
		if err := p.Write(p.ctx, path, []byte(content)); err != nil {
			p.Fatal(err)
		}
	}
}

// dump is the opposite of fill.
func (p *probe) dump() string {
	p.Helper()
	files, err := p.List(p.ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		p.Fatal(err)
	}
	var docs []string
	for _, f := range files {
		data, err := p.Read(p.ctx, f.Path)
		if err != nil {
			p.Fatal(err)
		}
		docs = append(docs, f.Path+"="+string(data))
	}
	return strings.Join(docs, " ")
}

// reader is what Store and Batch have in common.
type reader interface {
	Read(ctx context.Context, path string) ([]byte, error)
	Exists(ctx context.Context, path string) (bool, error)
	Stat(ctx context.Context, path string) (store.FileInfo, error)
	List(ctx context.Context, dir string, opts store.ListOptions) ([]store.FileInfo, error)
}

func (p *probe) wantRead(r reader, path, want string) {
	p.Helper()
	data, err := r.Read(p.ctx, path)
	if err != nil || string(data) != want {
		p.Errorf("read %s: %q, %v, want %q", path, data, err, want)
	}
	info, err := r.Stat(p.ctx, path)
	if err != nil || info.Path != path || info.Size != int64(len(want)) || info.IsDir || info.ModTime.IsZero() {
		p.Errorf("stat %s: %+v, %v", path, info, err)
	}
	p.wantExists(r, path, true)
}

func (p *probe) wantMissing(r reader, path string) {
	p.Helper()
	if data, err := r.Read(p.ctx, path); !store.IsNotFound(err) {
		p.Errorf("read %s: %q, %v, want not found", path, data, err)
	}
	if info, err := r.Stat(p.ctx, path); !store.IsNotFound(err) {
		p.Errorf("stat %s: %+v, %v, want not found", path, info, err)
	}
	p.wantExists(r, path, false)
}

func (p *probe) wantDir(r reader, path string) {
	p.Helper()
	if data, err := r.Read(p.ctx, path); !store.IsNotFound(err) {
		p.Errorf("read %s: %q, %v, want not found", path, data, err)
	}
	info, err := r.Stat(p.ctx, path)
	if err != nil || info.Path != path || info.Size != 0 || !info.IsDir || info.ModTime.IsZero() {
		p.Errorf("stat %s: %+v, %v, want a directory", path, info, err)
	}
	p.wantExists(r, path, true)
}

func (p *probe) wantExists(r reader, path string, want bool) {
	p.Helper()
	if got, err := r.Exists(p.ctx, path); got != want || err != nil {
		p.Errorf("exists %s: %t, %v, want %t", path, got, err, want)
	}
}

// wantList compares paths; directories are written with a slash behind them.
func (p *probe) wantList(r reader, dir string, opts store.ListOptions, want string) {
	p.Helper()
	files, err := r.List(p.ctx, dir, opts)
	if err != nil || files == nil {
		p.Errorf("list %q: %v, %v", dir, files, err)
	}
	var got []string
	for _, f := range files {
		if f.IsDir {
			f.Path += "/"
		}
		got = append(got, f.Path)
	}
	if got := strings.Join(got, " "); got != want {
		p.Errorf("list %q %+v: %q, want %q", dir, opts, got, want)
	}
}

// recorder collects events.
type recorder struct {
	p      *probe
	events chan store.ChangeEvent
	cancel func()
}

func record(p *probe) *recorder {
	r := &recorder{p: p, events: make(chan store.ChangeEvent, 1<<14)}
	r.cancel = p.Subscribe(func(ev store.ChangeEvent) { r.events <- ev })
	return r
}

// await returns the next n events, which a store may deliver a little late, or
// those that came.
func (r *recorder) await(n int) []store.ChangeEvent {
	var got []store.ChangeEvent
	late := time.After(10 * time.Second)
	for range n {
		select {
		case ev := <-r.events:
			got = append(got, ev)
		case <-late:
			return got
		}
	}
	return got
}

// take is await for a case that cannot go on without them.
func (r *recorder) take(n int) []store.ChangeEvent {
	r.p.Helper()
	got := r.await(n)
	if len(got) < n {
		r.p.Fatalf("%d of %d events arrived: %s", len(got), n, eventText(got))
	}
	return got
}

func (r *recorder) want(want string) {
	r.p.Helper()
	got := eventText(r.take(strings.Count(want, ",") + 1))
	if got != want {
		r.p.Errorf("events %q, want %q", got, want)
	}
	if n := len(r.events); n > 0 {
		r.p.Errorf("%d events too many, next is %v", n, <-r.events)
	}
}

func eventText(events []store.ChangeEvent) string {
	var texts []string
	for _, ev := range events {
		text := string(ev.Kind) + " " + ev.Path
		if ev.Kind == store.Renamed {
			text = string(ev.Kind) + " " + ev.OldPath + ">" + ev.Path
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
