// Package storetest tests the contract of store.Store; every backend runs it. Run has a case for
// each rule. RunModel compares long random histories with a map. The other tests are for backends
// that keep documents in files: they kill the process, or let system calls fail.
package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
)

// Run tests the stores that open returns. Each case gets a new, empty store and closes it. Cases
// for optional features skip themselves if the store does not have the feature.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	run(t, open, []group{
		{"read", readCases}, {"open", openCases}, {"read many", manyCases}, {"write", writeCases}, {"append", appendCases},
		{"delete", deleteCases}, {"rename", renameCases}, {"tree", treeCases}, {"list", listCases},
		{"batch", batchCases}, {"apply", applyCases}, {"events", eventCases}, {"closed", closeCases},
		{"context", contextCases}, {"concurrent", concurrentCases}, {"local path", localPathCases},
		{"version", versionCases}, {"path", pathCases()}, {"names", nameCases()},
	})
}

// RunNames is the part of Run that depends on which names a file system takes.
func RunNames(t *testing.T, open func(t *testing.T) *store.Store) {
	run(t, open, []group{{"tree", treeCases}, {"names", nameCases()}})
}

type group struct {
	name  string
	cases []scenario
}

func run(t *testing.T, open func(t *testing.T) *store.Store, groups []group) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
			}
		})
	}
}

// scenario is a test case. Documents and events are written as text: documents as "path=content"
// in ascending order of paths, separated by spaces; events as kind and path, separated by ", ". A
// renamed event is "renamed from>to".
type scenario struct {
	name     string
	before   string // documents at the start
	do       func(*probe) error
	wantErr  error  // if set, do must fail with it and leave the documents unchanged
	after    string // documents at the end, if do changes any
	events   string // events that do must cause
	readOnly bool   // do leaves the documents unchanged
}

func (c scenario) run(t *testing.T, s *store.Store) {
	p := &probe{T: t, Store: s, ctx: t.Context()}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	p.seed(c.before)
	rec := record(p)
	defer rec.cancel()
	err := c.do(p)
	if !errors.Is(err, c.wantErr) {
		t.Fatalf("got error %v, want %v", err, c.wantErr)
	}
	want := c.after
	if c.readOnly || c.wantErr != nil {
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
		t.Errorf("store contains %q, want %q", got, want)
	}
	events := strings.TrimPrefix(c.events+", created canary, deleted canary", ", ")
	rec.want(events)
}

// probe is the test and the store of a case.
type probe struct {
	*testing.T
	*store.Store
	ctx context.Context
}

// seed writes documents that are given as text.
func (p *probe) seed(docs string) {
	p.Helper()
	for doc := range strings.FieldsSeq(docs) {
		path, content, _ := strings.Cut(doc, "=")
		if err := p.Write(p.ctx, path, []byte(content)); err != nil {
			p.Fatal(err)
		}
	}
}

// dump returns all documents as text.
func (p *probe) dump() string {
	p.Helper()
	docs, _ := p.readParts(p.listAll(), func() {})
	return manyText(docs)
}

// reader is the interface that Store and Batch have in common.
type reader interface {
	Read(ctx context.Context, path string) ([]byte, error)
	ReadMany(ctx context.Context, files []store.FileInfo) ([]store.Document, error)
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

// wantList compares the paths of a listing. Directories have a slash at the end.
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

// await returns the next n events, or fewer if they do not arrive in time. A remote store
// delivers events a little late.
func (r *recorder) await(n int) []store.ChangeEvent {
	var got []store.ChangeEvent
	timeout := time.After(10 * time.Second)
	for range n {
		select {
		case ev := <-r.events:
			got = append(got, ev)
		case <-timeout:
			return got
		}
	}
	return got
}

// take is await for a case that cannot continue without all n events.
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
		r.p.Errorf("%d more events, the first is %v", n, <-r.events)
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
