package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/harness"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/dataset"
	"evalctl/harness/seed"
	"evalctl/harness/target"
)

// arm is a measured target.
type arm struct {
	bench    *Bench
	index    int // in record.File.Targets
	target   Target
	session  *harness.Session
	home     string // of a started daemon
	temp     string
	mix      []record.Share
	brains   map[int][]string // ids, by size
	created  []*seed.Brain
	requests map[int]*work.Requests // by size
}

// open starts or connects to all targets.
func (b *Bench) open(ctx context.Context) error {
	var services []target.Service
	for _, t := range b.Targets {
		a := &arm{
			bench: b, index: len(b.arms), target: t, brains: map[int][]string{}, requests: map[int]*work.Requests{},
		}
		b.Observer.Doing("starting "+t.Name, nil)
		b.arms = append(b.arms, a)
		b.file.Targets = append(b.file.Targets, record.Target{Name: t.Name, Null: t.Null})
		if err := a.open(ctx); err != nil {
			return fmt.Errorf("target %s: %w", t.Name, err)
		}
		services = append(services, a.session.Service())
	}
	// All targets get the same requests, so operations that any of them lacks are dropped.
	common := slices.Clone(b.Plan.Mix)
	for _, a := range b.arms {
		common = slices.DeleteFunc(common, func(s record.Share) bool { return !slices.Contains(a.mix, s) })
	}
	if len(common) == 0 {
		return fmt.Errorf("the targets have no operation of the mix in common: %s", strings.Join(b.lacks(), "; "))
	}
	for _, a := range b.arms {
		a.mix = common
	}
	b.file.Client = work.Client(services)
	return nil
}

// lacks returns the operations of the mix that targets lack.
func (b *Bench) lacks() (all []string) {
	for _, t := range b.file.Targets {
		for _, why := range t.Lacks {
			all = append(all, t.Name+": "+why)
		}
	}
	return all
}

func (a *arm) open(ctx context.Context) (err error) {
	c := a.target.Session
	c.Concurrency = max(a.bench.Plan.Concurrency, min(a.bench.Plan.MaxInFlight, 1024))
	if c.Endpoint == "" {
		// The bench's own home, so that its size can be measured.
		if a.temp, err = os.MkdirTemp("", "evalctl-bench-*"); err != nil {
			return fmt.Errorf("%w: %w", harness.ErrHome, err)
		}
		a.home = filepath.Join(a.temp, "data")
		if err := os.Mkdir(a.home, 0o700); err != nil {
			return fmt.Errorf("%w: %w", harness.ErrHome, err)
		}
		c.Launch.Home, c.Launch.LogPath = a.home, filepath.Join(a.temp, "daemon.log")
	}
	if a.session, err = harness.Open(ctx, c); err != nil {
		return err
	}
	t := &a.bench.file.Targets[a.index]
	t.Daemon, t.Started = a.session.ID(), a.session.Process() != nil
	if a.target.Null {
		t.Daemon.Endpoint = "" // the port is another one each time
	}
	if a.bench.Plan.Brains > 1 {
		if err := target.Needs(a.session.Service(), target.Brains); err != nil {
			return fmt.Errorf("%w; leave out --brains", err)
		}
	}
	a.mix, t.Lacks = work.Has(a.session.Service(), a.bench.Plan.Mix)
	if len(a.mix) == 0 {
		return fmt.Errorf("it has none of the operations of the mix: %s", t.Lacks[0])
	}
	return nil
}

// close removes the created brains and ends the started daemons.
func (b *Bench) close() error {
	b.Observer.Doing("removing the documents of the bench", nil)
	var errs []error
	for _, a := range b.arms {
		for _, r := range a.requests {
			r.Close()
		}
		if a.session != nil {
			if a.temp == "" { // otherwise all brains end with the home of the daemon
				errs = append(errs, a.removeBrains())
			}
			errs = append(errs, a.session.Close())
			b.file.Targets[a.index].Escaped = a.session.Escaped()
		}
		if a.temp != "" {
			_ = os.RemoveAll(a.temp) // a daemon may have created files as another user
		}
	}
	return errors.Join(errs...)
}

// removeBrains removes the created brains by the rules of seed.RemoveEach.
func (a *arm) removeBrains() error {
	return seed.RemoveEach(context.Background(), a.created, func(ctx context.Context, brain *seed.Brain) error {
		err := brain.Remove(ctx)
		if err != nil {
			err = fmt.Errorf("target %s: brain %q could not be removed: %w", a.target.Name, brain.ID(), err)
		}
		return err
	})
}

// brainName returns the name of a brain. Several targets may be the same daemon.
func (a *arm) brainName(size, i int) string {
	return fmt.Sprintf("bench-%s-%d-%d", a.writer(), size, i)
}

// writer identifies the bench and the target.
func (a *arm) writer() string {
	return fmt.Sprintf("%x-%d", a.bench.start.UnixNano()&0xffffff, a.index)
}

// fill creates the brains of a size, or finds the existing one, and prepares its requests.
func (a *arm) fill(ctx context.Context, size int) error {
	b := a.bench
	if b.Filling != nil {
		defer b.Filling(a.target.Name)()
	}
	docs := []dataset.Doc(nil)
	if !a.target.Null && b.Brain == "" {
		b.Observer.Doing(fmt.Sprintf("%s: writing %d documents", a.target.Name, size), nil)
		docs = b.Documents.Take(size)
	}
	held := a.held(ctx)
	began := time.Now()
	for i := range b.Plan.Brains {
		if err := a.brain(ctx, size, i, docs); err != nil {
			return fmt.Errorf("target %s: %w", a.target.Name, err)
		}
	}
	if len(docs) > 0 {
		b.file.Fills = append(b.file.Fills, a.filled(ctx, size, docs, time.Since(began), held))
	}
	mode := b.Plan.Mode
	if a.target.Mode != "" {
		mode = a.target.Mode
	}
	documents := size
	if b.Brain != "" {
		documents = 0
	}
	a.requests[size] = work.NewRequests(work.Config{
		Mix: a.mix, Seed: b.Plan.Seed, TopK: b.Plan.TopK, Mode: mode, Dialect: a.target.Dialect, Client: b.file.Client,
		Queries: b.Queries, Documents: b.Documents, Size: documents, Writer: a.writer(), Prices: b.Prices,
	}, a.session.Service(), a.brains[size])
	return nil
}

// writers is the number of concurrent requests that write documents.
const writers = 4

// brain creates and fills one brain.
func (a *arm) brain(ctx context.Context, size, i int, docs []dataset.Doc) error {
	if a.bench.Brain != "" && !a.target.Null {
		brain := seed.NewBrain(a.session.Service(), a.target.Dialect, a.bench.Brain)
		if err := brain.Find(ctx); err != nil {
			return err
		}
		a.brains[size] = []string{brain.ID()}
		return nil
	}
	brain := seed.NewBrain(a.session.Service(), a.target.Dialect, a.brainName(size, i))
	if err := brain.Create(ctx); err != nil {
		return err
	}
	a.created = append(a.created, brain)
	a.brains[size] = append(a.brains[size], brain.ID())
	if len(docs) == 0 {
		return nil
	}
	return brain.Seed(ctx, docs, writers)
}

// warm sends requests until a target is warm. It uses the largest size, and requests that do not
// occur in the rest of the bench.
func (a *arm) warm(ctx context.Context) error {
	b := a.bench
	if b.WarmUp == 0 {
		b.file.Targets[a.index].WarmUp = record.WarmUp{Method: "none", Steady: true}
		return nil
	}
	var live load.Live
	b.Observer.Doing(a.target.Name+": warming up", &live)
	for _, size := range b.Plan.Sizes {
		var n atomic.Uint64
		w, err := load.WarmUp(ctx, b.profile(0, 0), b.WarmUp, a.requests[size].Request, &n, &live)
		t := &b.file.Targets[a.index].WarmUp
		first := t.Method == ""
		t.Method, t.Seconds, t.Requests = w.Method, t.Seconds+w.Seconds, t.Requests+w.Requests
		t.Steady = w.Steady && (first || t.Steady)
		for _, took := range live.Recent() {
			b.slow = min(max(b.slow, took), longestLead)
		}
		if err != nil {
			return err
		}
		if a.target.Null {
			break
		}
	}
	return nil
}

// run is a load on one target.
type run struct {
	span               load.Span
	profile            load.Profile
	stage, size, round int       // of the first block
	first              uint64    // number of the first request
	what               string    // for the display
	work               load.Work // nil for the requests of the size
	probe              bool      // it is a rate of a search, which is kept as a whole
}

// blocks measures blocks of a size. Finished blocks are saved meanwhile.
func (a *arm) blocks(ctx context.Context, r run) ([]record.Block, error) {
	var live load.Live
	a.bench.Observer.Doing(r.what, &live)
	var n atomic.Uint64
	n.Store(r.first)
	at := a.bench.since() + r.span.Lead.Seconds()
	sampled := func() []*record.Usage { return nil }
	if !r.probe { // which ends when it has shown enough
		sampled = a.sample(ctx, r.span)
	}
	saved := make(chan struct{})
	over, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(saved)
		if r.probe {
			return
		}
		a.keep(over, func() []record.Block { return a.placed(live.Blocks(), r, at) })
	}()
	if r.work == nil {
		r.work = a.requests[r.size].Request
	}
	found, err := load.Run(ctx, r.profile, r.span, r.work, &n, &live)
	stop()
	<-saved
	usage := sampled()
	found = a.placed(found, r, at)
	for i := range min(len(found), len(usage)) {
		found[i].Resources = usage[i]
	}
	return found, err
}

// placed sets the target, stage, size, round and start of blocks.
func (a *arm) placed(found []record.Block, r run, at float64) []record.Block {
	for i := range found {
		found[i].Target, found[i].Stage, found[i].Size, found[i].Round = a.index, r.stage, r.size, r.round+i
		found[i].AtSeconds = at + float64(i)*r.span.Block.Seconds()
	}
	return found
}

// keep saves the bench with the blocks so far from time to time, until ctx ends. Nothing else may
// modify the file meanwhile.
func (a *arm) keep(ctx context.Context, blocks func() []record.Block) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if found := blocks(); len(found) > 0 {
			f := *a.bench.file
			f.Blocks = append(slices.Clip(f.Blocks), found...)
			_ = a.bench.save(&f) // errors are reported at the end
		}
	}
}
