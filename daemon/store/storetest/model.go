package storetest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/store"
)

// RunModel makes the same random mutations in stores and in a map, and compares all results,
// listings and events.
func RunModel(t *testing.T, open func(t *testing.T) *store.Store) {
	RunReplicas(t, func(t *testing.T) []*store.Store { return []*store.Store{open(t)} })
}

// RunReplicas is RunModel for stores of the same documents. Each mutation is made in one of them,
// and all of them must show it.
func RunReplicas(t *testing.T, open func(t *testing.T) []*store.Store) {
	rapid.Check(t, func(r *rapid.T) {
		m := &machine{T: r, docs: model{}}
		for _, s := range open(t) {
			defer func() {
				if err := s.Close(); err != nil {
					r.Fatal(err)
				}
			}()
			p := &probe{T: t, Store: s, ctx: t.Context()}
			rec := record(p)
			defer rec.cancel()
			m.all = append(m.all, rec)
		}
		m.p = m.all[0].p
		r.Repeat(map[string]func(*rapid.T){
			"":       m.compare,
			"single": m.single,
			"apply":  m.apply,
			"batch":  m.batch,
			"list":   m.list,
		})
	})
}

// machine is one or more stores of the same documents, and their expected content.
type machine struct {
	*rapid.T
	all  []*recorder // of each store
	p    *probe      // the store that an action uses
	docs model
}

// choose draws the store that an action uses.
func (m *machine) choose(r *rapid.T) {
	if len(m.all) > 1 {
		m.p = m.all[rapid.IntRange(0, len(m.all)-1).Draw(r, "replica")].p
	}
}

// model maps paths to contents. It implements the rules in the simplest form.
type model map[string]string

// A few paths, many of which exclude each other. Some file systems reject some of them, or cannot
// keep them apart.
var (
	anyPath = rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/_g", "_g", "_g/a", "é", "d/x.md", "d/y.md",
		"d/e/x.md", "A", "A/b", "e\u0301", "d/X.md", "d/q?.md", ".DS_Store", "%=d/x~"})
	anyKind = rapid.SampledFrom([]store.OpKind{store.OpWrite, store.OpWrite, store.OpAppend, store.OpDelete,
		store.OpRename})
	anyOp = rapid.Custom(func(r *rapid.T) store.Op {
		op := store.Op{Kind: anyKind.Draw(r, "kind"), Path: anyPath.Draw(r, "path")}
		switch op.Kind {
		case store.OpRename:
			op.To = anyPath.Draw(r, "to")
		case store.OpWrite, store.OpAppend:
			op.Data = rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(r, "data")
		}
		return op
	})
)

func (m *machine) single(r *rapid.T) {
	m.choose(r)
	op := anyOp.Draw(r, "op")
	next := maps.Clone(m.docs)
	event, want := next.change(op)
	m.checkOutcome(r, mutate(m.p.ctx, m.p, op), want, next, event)
}

func (m *machine) apply(r *rapid.T) {
	m.choose(r)
	ops := rapid.SliceOfN(anyOp, 0, 6).Draw(r, "ops")
	next := maps.Clone(m.docs)
	var events []string
	var want error
	for _, op := range ops {
		var event string
		if event, want = next.change(op); want != nil {
			break
		}
		events = append(events, event)
	}
	err := m.p.Apply(m.p.ctx, store.Commit{Ops: ops})
	m.checkOutcome(r, err, want, next, strings.Join(events, ", "))
}

func (m *machine) batch(r *rapid.T) {
	m.choose(r)
	ops := rapid.SliceOfN(anyOp, 0, 8).Draw(r, "ops")
	stop := rapid.IntRange(0, 4).Draw(r, "stop") == 0
	opts := anyListing.Draw(r, "listing")
	next := maps.Clone(m.docs)
	last := map[string]int{} // path to its last mutation
	err := m.p.Batch(m.p.ctx, store.BatchOptions{}, func(b *store.Batch) error {
		for i, op := range ops {
			_, want := next.change(op)
			if err := mutate(m.p.ctx, b, op); !errors.Is(err, want) {
				r.Fatalf("%s %s: %v, want %v", op.Kind, op.Path, err, want)
			}
			if want == nil {
				last[op.Path] = 2*i + 1
				if op.Kind == store.OpRename {
					last[op.To] = 2 * i
					if op.To == op.Path {
						last[op.To] = 2*i + 1
					}
				}
			}
			m.compareListing(r, b, next, opts)
			for path := range last {
				compareDocument(r, m.p, b, next, path)
			}
		}
		if stop {
			return errStop
		}
		return nil
	})
	if stop {
		m.checkOutcome(r, err, errStop, m.docs, "")
		return
	}
	m.checkOutcome(r, err, nil, next, m.docs.mergedEvents(next, last))
}

// checkOutcome checks the result of a mutation. If it should succeed, next becomes the new state.
func (m *machine) checkOutcome(r *rapid.T, err, want error, next model, events string) {
	if !errors.Is(err, want) {
		r.Fatalf("got error %v, want %v", err, want)
	}
	if want == nil {
		m.docs = next
	} else {
		events = ""
	}
	n := 0
	if events != "" {
		n = strings.Count(events, ",") + 1
	}
	for _, rec := range m.all {
		if err := rec.p.Sync(rec.p.ctx); err != nil {
			r.Fatal(err)
		}
		received := rec.await(n)
		for len(rec.events) > 0 {
			received = append(received, <-rec.events)
		}
		if got := eventText(received); got != events {
			r.Fatalf("events %q, want %q", got, events)
		}
	}
}

func (m *machine) compare(r *rapid.T) {
	var want []string
	for _, path := range slices.Sorted(maps.Keys(m.docs)) {
		want = append(want, path+"="+m.docs[path])
	}
	for _, rec := range m.all {
		if got := rec.p.dump(); got != strings.Join(want, " ") {
			r.Fatalf("store contains %q, want %q", got, want)
		}
	}
}

func (m *machine) list(r *rapid.T) {
	m.choose(r)
	m.compareListing(r, m.p, m.docs, anyListing.Draw(r, "listing"))
	compareDocument(r, m.p, m.p, m.docs, anyPath.Draw(r, "path"))
}

type listing struct {
	dir  string
	opts store.ListOptions
}

var anyListing = rapid.Custom(func(r *rapid.T) listing {
	return listing{
		dir: rapid.SampledFrom([]string{"", "a", "a/b", "d", "d/e", "é", "x"}).Draw(r, "dir"),
		opts: store.ListOptions{
			Recursive:        rapid.Bool().Draw(r, "recursive"),
			IncludeGenerated: rapid.Bool().Draw(r, "generated"),
			Glob:             rapid.SampledFrom([]string{"", "*", "*.md", "?", "[_x]*"}).Draw(r, "glob"),
		},
	}
})

func (m *machine) compareListing(r *rapid.T, s reader, docs model, l listing) {
	files, err := s.List(m.p.ctx, l.dir, l.opts)
	if err != nil {
		r.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %t", f.Path, f.IsDir))
	}
	if want := docs.list(l); !slices.Equal(got, want) {
		r.Fatalf("list %+v: %q, want %q", l, got, want)
	}
}

func compareDocument(r *rapid.T, p *probe, s reader, docs model, path string) {
	content, isDoc := docs[path]
	data, err := s.Read(p.ctx, path)
	if isDoc != (err == nil) || string(data) != content || !isDoc && !store.IsNotFound(err) {
		r.Fatalf("read %s: %q, %v, want %q", path, data, err, content)
	}
	many, err := s.ReadMany(p.ctx, []store.FileInfo{{Path: path}})
	if err != nil || len(many) != 1 || many[0].Exists != isDoc || many[0].Content != content {
		r.Fatalf("read many %s: %+v, %v, want %q", path, many, err, content)
	}
	info, err := s.Stat(p.ctx, path)
	isDir := docs.isDir(path)
	if (isDoc || isDir) != (err == nil) || info.IsDir != isDir || info.Size != int64(len(content)) {
		r.Fatalf("stat %s: %+v, %v", path, info, err)
	}
	if exists, err := s.Exists(p.ctx, path); exists != (isDoc || isDir) || err != nil {
		r.Fatalf("exists %s: %t, %v", path, exists, err)
	}
}

// change makes one mutation and returns its event.
func (m model) change(op store.Op) (event string, err error) {
	content, exists := m[op.Path]
	event = string(store.Updated) + " " + op.Path
	if !exists {
		event = string(store.Created) + " " + op.Path
	}
	switch op.Kind {
	case store.OpWrite, store.OpAppend:
		if !m.hasRoom(op.Path) {
			return "", store.ErrInvalidPath
		}
		if op.Kind == store.OpWrite {
			content = ""
		}
		m[op.Path] = content + string(op.Data)
		return event, nil
	}
	if !exists {
		return "", store.ErrNotFound
	}
	if op.Kind == store.OpDelete {
		delete(m, op.Path)
		return string(store.Deleted) + " " + op.Path, nil
	}
	if !m.hasRoom(op.To) {
		return "", store.ErrInvalidPath
	}
	delete(m, op.Path)
	m[op.To] = content
	return string(store.Renamed) + " " + op.Path + ">" + op.To, nil
}

func (m model) isDir(path string) bool {
	for p := range m {
		if strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

func (m model) hasRoom(path string) bool {
	for p := range m {
		if strings.HasPrefix(path, p+"/") {
			return false
		}
	}
	return !m.isDir(path)
}

func (m model) list(l listing) []string {
	entries := map[string]bool{}
	for p := range m {
		rest, inside := strings.CutPrefix(p, l.dir+"/")
		if l.dir == "" {
			rest, inside = p, true
		}
		if !inside {
			continue
		}
		isDir := false
		if name, _, deeper := strings.Cut(rest, "/"); deeper && !l.opts.Recursive {
			p, isDir = strings.TrimPrefix(l.dir+"/"+name, "/"), true
		}
		fits, _ := path.Match(l.opts.Glob, path.Base(p))
		if (l.opts.Glob == "" || fits) && (l.opts.IncludeGenerated || path.Base(p)[0] != '_') {
			entries[p] = isDir
		}
	}
	var lines []string
	for _, p := range slices.Sorted(maps.Keys(entries)) {
		lines = append(lines, fmt.Sprintf("%s %t", p, entries[p]))
	}
	return lines
}

// mergedEvents returns the events of a batch that leads from m to next. last orders the paths by
// their last mutation.
func (m model) mergedEvents(next model, last map[string]int) string {
	paths := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a] - last[b] })
	var events []string
	for _, path := range paths {
		_, before := m[path]
		_, after := next[path]
		kind := store.Updated
		switch {
		case !before && !after:
			continue
		case !after:
			kind = store.Deleted
		case !before:
			kind = store.Created
		}
		events = append(events, string(kind)+" "+path)
	}
	return strings.Join(events, ", ")
}
