// Package ingest fills the brains of a daemon with the haystacks of a benchmark, or finds brains
// filled by an earlier replay. It also maps a retrieved chunk to its session.
//
// Haystacks are read when needed and not kept, so that memory is bounded by the number of haystacks
// written at a time.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// Mode selects how brains are filled.
type Mode string

// The modes. Bulk writes a document for each session. Replay sends the messages of the sessions
// ordered by date and has the daemon extract facts. None uses brains that are filled already.
const (
	Bulk   Mode = "bulk"
	Replay Mode = "replay"
	None   Mode = "none"
)

// Modes lists all modes, the default first.
var Modes = []Mode{Bulk, Replay, None}

// Config configures Fill.
type Config struct {
	Service target.Service
	Dialect result.Dialect
	Mode    Mode
	// Shared is the name of the brain for all haystacks. If it is empty, each haystack has its own
	// brain.
	Shared string
	// Concurrency limits the number of haystacks written at a time. It is at least 1.
	Concurrency int
	// Daemon identifies the daemon, on which the contents of a brain depend.
	Daemon Daemon
	// Record is the path of the file that lists the brains filled by earlier replays at this
	// endpoint. It is locked until Fill returns, so that two replays do not fill the same brain. If
	// it is empty, no brain is reused.
	Record string
	// Notes is the folder for what only the process that fills a brain knows of it, such as the
	// service's ids, see target.NoteTaker and NotesBeside. If it is empty, brains of a service that
	// needs notes are always filled again.
	Notes string
	// Owner identifies this replay, also when it is resumed. If Daemon.Build is empty, the notes are
	// of use to this replay only.
	Owner string
	// OwnProcesses is set if each brain has a process that is started when the brain is used.
	// Such a brain is not searched to see whether the service has lost it.
	OwnProcesses bool
	// NewHome is set if the service was started in an empty home, so that texts in its store are
	// its own.
	NewHome bool
	// SharedRecord replaces Record for concurrent calls of Fill.
	SharedRecord *Record
	// Find is set if another process of this replay has filled the brains. A missing or empty brain
	// is then an error, and nothing is written.
	Find bool
	// Cost returns the list cost of the daemon's models so far, nil if unknown. If it is set, the
	// cost of filling brains is recorded, and reported when they are reused.
	Cost func() *llm.USD
	// Seeded reports whether this replay filled a brain before it was interrupted. MarkSeeded is
	// called with the name of each filled brain. Both may be nil; they are not called concurrently.
	Seeded     func(brain string) bool
	MarkSeeded func(brain string) error
	// Progress, if set, is called with the number of sessions that were written, or found written,
	// since its last call. It must be safe for concurrent use.
	Progress func(sessions int)
}

// FilledBrains are brains that are ready for questions. The zero value has none.
type FilledBrains struct {
	// Brains are the daemon's ids, by the name that questions use for the brain of their haystack.
	Brains map[string]string
	Report result.Ingest
	// ReusedUSD is the cost to earlier replays of filling the reused brains. Unrecorded is the
	// number of reused brains whose cost is unknown. Both are 0 without Config.Cost. The cost of a
	// replay is divided among the brains that it filled by their sessions.
	ReusedUSD  llm.USD
	Unrecorded int

	bench *source.Benchmark
	from  Config
	// haystacks has the contents of the brains by name.
	haystacks map[string]*contents
	sessions  map[string]string // paths of sessions by their folded id
	// byText is set if the service may not name the documents of chunks. textMatches counts chunks
	// that were matched by their text.
	byText      bool
	textMatches atomic.Int64

	mu  sync.Mutex
	err error // of reading a haystack again
}

// Fill makes the brains of haystacks ready for questions. In the modes Bulk and Replay, a
// brain's name contains its signature. Fill creates a brain, writes its haystacks, and waits
// until they are searchable, unless this replay filled the brain before, or Config.Record lists
// it and the daemon has not lost it since. A brain left by an interrupted replay is deleted
// first if the service can delete brains. If the service has only one store, its earlier brains
// are replaced; a store that cannot be emptied must not have texts. In the mode None, the brains
// have the names of the haystacks and must exist and not be empty; the error names all that are
// missing or empty.
//
// If anything fails, or ctx ends, incomplete brains are removed, and so are brains that would not
// be found again. The error says which brains could not be removed.
func Fill(
	ctx context.Context, c Config, b *source.Benchmark, haystacks []string,
) (*FilledBrains, error) {
	start := time.Now()
	if err := c.check(b); err != nil {
		return nil, err
	}
	f := newFiller(c, b, haystacks)
	brains, err := f.plan(haystacks)
	if err != nil {
		return nil, err
	}
	if len(brains) > 1 {
		if err := target.Needs(c.Service, target.Brains); err != nil {
			return nil, err
		}
	}
	f.result.byText = c.Service.Lacks(target.Protocol) != ""
	switch {
	case c.SharedRecord != nil:
		f.record = c.SharedRecord
	case c.Record != "" && c.Mode != None && !c.Find && c.Daemon.Build != "":
		if f.record, err = OpenRecord(c.Record); err != nil {
			return nil, err
		}
		defer func() { _ = f.record.Close() }() // it has been written
	}
	before := f.cost()
	if err := f.fillAll(ctx, brains); err != nil {
		return nil, errors.Join(err, f.undo(ctx))
	}
	if err := f.price(before, f.cost()); err != nil {
		return nil, err
	}
	f.report(brains)
	f.result.Report.Seconds = time.Since(start).Seconds()
	return f.result, nil
}

func newFiller(c Config, b *source.Benchmark, haystacks []string) *filler {
	return &filler{
		stall:  stall{last: time.Now()},
		Config: c, bench: b, writers: writersFor(c, len(haystacks)),
		brains: map[string]string{}, owners: map[string]string{}, created: map[*seed.Brain]brain{},
		result: &FilledBrains{
			Brains: map[string]string{}, bench: b, from: c,
			haystacks: map[string]*contents{}, sessions: map[string]string{},
		},
	}
}

// Describe returns the result of Fill without a daemon, for brains filled by other processes. The
// report lacks the duration and the number of reused brains.
func Describe(ctx context.Context, c Config, b *source.Benchmark, haystacks []string) (*FilledBrains, error) {
	if err := c.check(b); err != nil {
		return nil, err
	}
	f := newFiller(c, b, haystacks)
	brains, err := f.plan(haystacks)
	if err != nil {
		return nil, err
	}
	for _, b := range brains {
		if err := f.each(ctx, b, func(context.Context, source.Haystack) error { return nil }); err != nil {
			return nil, err
		}
		for _, id := range b.haystacks {
			f.result.Brains[f.brains[id]] = b.name
		}
	}
	f.report(brains)
	return f.result, nil
}

// report describes the contents of the brains, including reused ones.
func (f *filler) report(brains []brain) {
	r := &f.result.Report
	r.Mode, r.Shared, r.Brains = string(f.Mode), f.Shared != "", len(brains)
	r.Signature = together(brains)
	for _, k := range f.result.haystacks {
		r.Sessions += k.sessions
		switch f.Mode {
		case Replay:
			r.Messages += k.messages
		case Bulk:
			r.Documents += k.documents
		}
	}
}

// check returns an error for an invalid configuration.
func (c Config) check(b *source.Benchmark) error {
	if !slices.Contains(Modes, c.Mode) {
		return fmt.Errorf("unknown ingest mode %q; known are %v", c.Mode, Modes)
	}
	if c.Mode == Replay && b.HasDocuments() {
		return fmt.Errorf("%s has documents and no sessions, which the ingest mode %s sends; "+
			"use the mode %s", b.Path, Replay, Bulk)
	}
	if c.Mode == Bulk && b.Format == dataset.JSONL && b.Corpus == "" {
		return fmt.Errorf("%s has no documents to write; give them with --corpus, or use the ingest "+
			"mode %s for brains that have them", b.Path, None)
	}
	if c.Shared != "" && brainName(c.Shared, "") != c.Shared {
		return fmt.Errorf("the shared brain %q must have a name of lower-case letters, digits and "+
			"hyphens, which begins with a letter or digit and has at most 64 characters", c.Shared)
	}
	return nil
}

// writersFor returns the number of concurrent requests that write documents to one brain.
func writersFor(c Config, haystacks int) int {
	return max(1, target.MinConns/max(1, min(c.Concurrency, haystacks)))
}

// brain is a brain to fill.
type brain struct {
	name      string
	signature string // empty in the mode None
	haystacks []string
	sessions  int
}

// filler is the state of one call of Fill.
type filler struct {
	Config
	bench   *source.Benchmark
	record  *Record
	writers int
	brains  map[string]string // of the haystacks, as questions call them
	stall   stall

	mu     sync.Mutex // guards the fields below and the calls of Seeded and MarkSeeded
	result *FilledBrains
	owners map[string]string // the haystacks of the documents in a shared brain
	// created are the brains that would be orphaned if Fill failed.
	created   map[*seed.Brain]brain
	newBrains []brain // those that were filled
}

// plan returns the brains for haystacks.
func (f *filler) plan(haystacks []string) ([]brain, error) {
	infos := map[string]source.HaystackInfo{}
	for _, info := range f.bench.Infos() {
		infos[info.ID] = info
	}
	var brains []brain
	all := brain{name: f.Shared}
	for _, id := range haystacks {
		info, ok := infos[id]
		if !ok {
			return nil, fmt.Errorf("%s has no haystack %q", f.bench.Path, id)
		}
		if f.brains[id] != "" {
			return nil, fmt.Errorf("the haystack %q is given twice", id)
		}
		f.brains[id] = info.Brain
		if f.Shared == "" {
			one := brain{
				name: info.Brain, haystacks: []string{id}, sessions: info.Sessions,
			}
			brains = append(brains, one)
			continue
		}
		all.haystacks, all.sessions = append(all.haystacks, id), all.sessions+info.Sessions
	}
	if f.Shared != "" {
		brains = append(brains, all)
	}
	if f.Mode == None {
		return brains, nil
	}
	for i := range brains {
		b := &brains[i]
		b.signature = f.signature(b.haystacks)
		b.name = brainName(b.name, b.signature)
	}
	return brains, nil
}

// fillAll fills or finds the brains. It continues after unusable brains, so that the error names
// all of them.
func (f *filler) fillAll(ctx context.Context, brains []brain) error {
	unusable := make([]error, len(brains))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(f.Concurrency)
	for i, b := range brains {
		g.Go(func() error {
			if gctx.Err() != nil {
				return context.Cause(gctx)
			}
			err := f.ready(gctx, b)
			if f.Mode == None && (errors.Is(err, seed.ErrMissing) || errors.Is(err, seed.ErrEmpty)) {
				unusable[i], err = fmt.Errorf("%w; the ingest mode %s needs it filled, or choose the "+
					"mode %s or %s", err, None, Bulk, Replay), nil
			}
			return err
		})
	}
	err := g.Wait()
	unusable = slices.DeleteFunc(unusable, func(err error) bool { return err == nil })
	if err == nil && len(unusable) > 0 {
		err = dataset.JoinErrors(unusable, "brains")
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// undo removes created brains that would not be found again.
func (f *filler) undo(ctx context.Context) error {
	byName := func(a, b *seed.Brain) int { return cmp.Compare(a.ID(), b.ID()) }
	return seed.RemoveEach(ctx, slices.SortedFunc(maps.Keys(f.created), byName), func(ctx context.Context, remote *seed.Brain) error {
		err := remote.Remove(ctx)
		if err == nil {
			err = f.forget(f.created[remote])
		}
		if err != nil {
			err = fmt.Errorf("brain %q, which is not completely filled, could not be removed: %w", remote.ID(), err)
			err = errors.Join(err, f.noteBegun(remote, f.created[remote])) // now with the ids of its texts
		}
		return err
	})
}

// progress reports n sessions.
func (f *filler) progress(n int) {
	if f.Progress != nil && n > 0 {
		f.Progress(n)
	}
}

// brainName returns the name of a brain, followed by the beginning of its signature if it has one.
// The name is an id by the slug rule of spec 2.
func brainName(name, signature string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
	if signature == "" {
		return name[:min(len(name), maxName)]
	}
	mark := "-" + signature[:12]
	return strings.TrimSuffix(name[:min(len(name), maxName-len(mark))], "-") + mark
}
