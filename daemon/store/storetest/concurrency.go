package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"evalctl/daemon/store"
)

var concurrentCases = []scenario{
	{name: "no append is lost", do: func(p *probe) error {
		parallel(p, 8, func(i int) error {
			for range 20 {
				if err := p.Append(p.ctx, "a", []byte{byte('a' + i)}); err != nil {
					return err
				}
			}
			return nil
		})
		data, err := p.Read(p.ctx, "a")
		for i := range 8 {
			if n := strings.Count(string(data), string(rune('a'+i))); n != 20 {
				p.Errorf("%d appends of %c", n, 'a'+i)
			}
		}
		return errors.Join(err, p.Delete(p.ctx, "a"))
	}, events: "created a" + strings.Repeat(", updated a", 159) + ", deleted a"},
	{name: "each caller has an outcome of its own", do: func(p *probe) error {
		for round := range 10 {
			wantOwnOutcomes(p, round)
		}
		return p.Close() // documents and events depend on who was first
	}},
	{name: "batches are isolated", before: "n=x", do: func(p *probe) error {
		parallel(p, 8, func(int) error {
			return batch(func(p *probe, b *store.Batch) error {
				data, err := b.Read(p.ctx, "n")
				return errors.Join(err, b.Write(p.ctx, "n", append(data, 'x')))
			})(p)
		})
		return nil
	}, after: "n=xxxxxxxxx", events: "updated n" + strings.Repeat(", updated n", 7)},
	{name: "readers see whole batches", before: "x/f=1 y/n=12345", do: func(p *probe) error {
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for watching := true; watching; {
					wantWholeBatch(p)
					select {
					case <-done:
						watching = false
					default:
					}
				}
			})
		}
		var err error
		for i := range 20 {
			// One document moves. The sum of both sizes stays the same.
			from, to := "x/f", "y/f"
			if i%2 == 1 {
				from, to = to, from
			}
			size := i % 6
			err = errors.Join(err, script(fmt.Sprintf("delete %s; write %s %s; write y/n %s",
				from, to, strings.Repeat("f", size), strings.Repeat("n", 6-size)))(p))
		}
		close(done)
		readers.Wait()
		return errors.Join(err, p.Delete(p.ctx, "x/f"), p.Delete(p.ctx, "y/n"))
	}, events: strings.Repeat("deleted x/f, created y/f, updated y/n, "+
		"deleted y/f, created x/f, updated y/n, ", 10) + "deleted x/f, deleted y/n"},
	{name: "events are in commit order", do: func(p *probe) error {
		rec := record(p)
		defer rec.cancel()
		parallel(p, 4, func(i int) error {
			for range 10 {
				if err := p.Append(p.ctx, "a", []byte("x")); err != nil {
					return err
				}
			}
			return nil
		})
		last := uint64(0)
		for i, ev := range rec.take(40) {
			if (ev.Kind == store.Created) != (i == 0) {
				p.Errorf("event %d is %s", i, ev.Kind)
			}
			if ev.Seq <= last && ev.Seq != 0 { // 0: the backend does not number commits
				p.Errorf("commit %d after %d", ev.Seq, last)
			}
			last = ev.Seq
		}
		return p.Delete(p.ctx, "a")
	}, events: "created a" + strings.Repeat(", updated a", 39) + ", deleted a"},
	{name: "closing under load", before: "a=1", do: func(p *probe) error {
		started := make(chan struct{})
		var once sync.Once
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for {
					err := p.Append(p.ctx, "a", []byte("x"))
					once.Do(func() { close(started) })
					if err == nil {
						_, err = p.Read(p.ctx, "a")
					}
					if err != nil {
						if !store.IsReadOnly(err) {
							p.Error(err)
						}
						return
					}
				}
			})
		}
		<-started
		err := p.Close()
		workers.Wait()
		return err
	}},
}

// wantOwnOutcomes lets callers at the same time write a document, write documents below it, and
// delete a missing one. Either the document exists or those below it, and the others have failed.
func wantOwnOutcomes(p *probe, round int) {
	const callers = 12
	errs := make([]error, callers)
	path := func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf("n%d/x%d", round, i)
		}
		return fmt.Sprintf("n%d", round)
	}
	parallel(p, callers, func(i int) error {
		if i%3 == 2 {
			errs[i] = p.Delete(p.ctx, "missing")
		} else {
			errs[i] = p.Write(p.ctx, path(i), []byte{byte('a' + i)})
		}
		return nil
	})
	info, err := p.Stat(p.ctx, path(1))
	if err != nil {
		p.Fatal(err)
	}
	for i, err := range errs {
		switch {
		case i%3 == 2 && !store.IsNotFound(err):
			p.Errorf("caller %d: delete: %v", i, err)
		case i%3 < 2 && info.IsDir == (i%3 == 0) && err != nil:
			p.Errorf("caller %d: write %s: %v", i, path(i), err)
		case i%3 < 2 && info.IsDir != (i%3 == 0) && !store.IsInvalidPath(err):
			p.Errorf("caller %d: write %s: %v, want an invalid path", i, path(i), err)
		}
	}
}

// wantWholeBatch takes a listing, in which no batch may be half visible.
func wantWholeBatch(p *probe) {
	files, err := p.List(p.ctx, "", store.ListOptions{Recursive: true})
	size := int64(0)
	for _, f := range files {
		size += f.Size
	}
	if err != nil || len(files) != 2 || size != 6 {
		p.Errorf("half a batch: %+v, %v", files, err)
	}
}

// parallel runs fn on n goroutines, waits for them and reports their errors.
func parallel(p *probe, n int, fn func(i int) error) {
	var workers sync.WaitGroup
	for i := range n {
		workers.Go(func() {
			if err := fn(i); err != nil {
				p.Error(err)
			}
		})
	}
	workers.Wait()
}
