package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"evalctl/daemon/store"
)

var eventCases = []scenario{
	{name: "fields", before: "a=1", after: "a=1", events: "updated a, updated a, renamed a>b, renamed b>a",
		do: eventFields},
	{name: "numbered by commit", before: "a=1", after: "b=2 c=2 d=1",
		events: "created b, created c, renamed a>d", do: func(p *probe) error {
			first := p.Seq() + 1
			rec := record(p)
			defer rec.cancel()
			err := errors.Join(script("write b 2; write c 2")(p), p.Rename(p.ctx, "a", "d"))
			got := rec.take(3)
			if got[0].Seq == 0 {
				return err // the backend does not number commits
			}
			if got[0].Seq != first || got[1].Seq != first || got[2].Seq != first+1 || p.Seq() != first+1 {
				p.Errorf("numbers %d %d %d, store %d, first should be %d",
					got[0].Seq, got[1].Seq, got[2].Seq, p.Seq(), first)
			}
			if got[0].Last || !got[1].Last || !got[2].Last {
				p.Errorf("last: %t %t %t", got[0].Last, got[1].Last, got[2].Last)
			}
			return err
		}},
	{name: "failures emit no event", before: "a=1", readOnly: true, do: check(func(p *probe) {
		seq := p.Seq()
		_ = p.Delete(p.ctx, "b")
		_ = p.Write(p.ctx, "a/b", nil)
		_ = apply("write c 1; delete d")(p)
		_ = batch(func(p *probe, b *store.Batch) error { return errors.Join(b.Write(p.ctx, "c", nil), errStop) })(p)
		if p.Seq() != seq {
			p.Errorf("%d commits", p.Seq()-seq)
		}
	})},
	{name: "every sink, in the same order", after: "a=1 b=2", events: "created a, created b", do: func(p *probe) error {
		one, two := record(p), record(p)
		defer one.cancel()
		defer two.cancel()
		err := script("write a 1; write b 2")(p)
		one.want("created a, created b")
		two.want("created a, created b")
		return err
	}},
	{name: "not after cancelling", after: "a=1 b=2", events: "created a, created b", do: func(p *probe) error {
		rec := record(p)
		err := p.Write(p.ctx, "a", []byte("1"))
		rec.want("created a")
		rec.cancel()
		rec.cancel()
		later := record(p) // gets the event for b after rec would get it
		defer later.cancel()
		err = errors.Join(err, p.Write(p.ctx, "b", []byte("2")))
		later.want("created b")
		if n := len(rec.events); n > 0 {
			p.Errorf("%d events after cancelling", n)
		}
		return err
	}},
	{name: "a sink may cancel itself", after: "a=1 b=2", events: "created a, created b", do: func(p *probe) error {
		var calls atomic.Int32
		var cancel func()
		cancel = p.Subscribe(func(store.ChangeEvent) {
			calls.Add(1)
			cancel()
		})
		later := record(p)
		defer later.cancel()
		err := script("write a 1; write b 2")(p)
		later.want("created a, created b")
		if calls.Load() != 1 {
			p.Errorf("called %d times", calls.Load())
		}
		return err
	}},
	{name: "a panic does not affect other sinks", after: "a=1", events: "created a", do: func(p *probe) error {
		defer p.Subscribe(func(store.ChangeEvent) { panic("sink") })()
		rec := record(p)
		defer rec.cancel()
		err := p.Write(p.ctx, "a", []byte("1"))
		rec.want("created a")
		return err
	}},
	{name: "a sink can read the document", after: "a=1", events: "created a", do: func(p *probe) error {
		got := make(chan string, 1)
		defer p.Subscribe(func(ev store.ChangeEvent) {
			data, err := p.Read(p.ctx, ev.Path)
			got <- fmt.Sprint(string(data), err)
		})()
		err := p.Write(p.ctx, "a", []byte("1"))
		if got := <-got; got != "1<nil>" {
			p.Errorf("the sink read %s", got)
		}
		return err
	}},
}

func eventFields(p *probe) error {
	rec := record(p)
	defer rec.cancel()
	err := errors.Join(
		p.Batch(p.ctx, store.BatchOptions{Reason: "tidy up"},
			func(b *store.Batch) error { return b.Append(p.ctx, "a", nil) }),
		p.Append(p.ctx, "a", nil),
		p.Apply(p.ctx, store.Commit{Reason: "again", Ops: parseOps("rename a b; rename b a")}))
	got := rec.take(4)
	for i, reason := range []string{"tidy up", "", "again", "again"} {
		if ev := got[i]; ev.Reason != reason || ev.When.IsZero() || (ev.OldPath != "") != (ev.Kind == store.Renamed) {
			p.Errorf("event %d: %+v", i, ev)
		}
	}
	return err
}

var closeCases = []scenario{
	{name: "twice", before: "a=1", do: func(p *probe) error { return errors.Join(p.Close(), p.Close()) }},
	{name: "every operation fails", before: "a=1", do: check(func(p *probe) {
		if err := p.Close(); err != nil {
			p.Fatal(err)
		}
		_, readErr := p.Read(p.ctx, "a")
		_, manyErr := p.ReadMany(p.ctx, filesOf("a"))
		_, statErr := p.Stat(p.ctx, "a")
		_, existsErr := p.Exists(p.ctx, "a")
		_, listErr := p.List(p.ctx, "", store.ListOptions{})
		for op, err := range map[string]error{
			"read": readErr, "read many": manyErr, "stat": statErr, "exists": existsErr, "list": listErr,
			"write": p.Write(p.ctx, "a", nil), "append": p.Append(p.ctx, "a", nil),
			"delete": p.Delete(p.ctx, "a"), "rename": p.Rename(p.ctx, "a", "b"),
			"apply": p.Apply(p.ctx, store.Commit{}), "batch": script("write a 1")(p),
		} {
			if !store.IsReadOnly(err) {
				p.Errorf("%s: %v", op, err)
			}
		}
	})},
	{name: "within a batch", before: "a=1", wantErr: store.ErrReadOnly, do: batch(func(p *probe, b *store.Batch) error {
		return errors.Join(b.Write(p.ctx, "b", nil), p.Close())
	})},
	{name: "from a sink", before: "a=1", do: func(p *probe) error {
		called := make(chan struct{})
		defer p.Subscribe(func(store.ChangeEvent) {
			defer close(called)
			if err := p.Close(); err != nil {
				p.Error(err)
			}
		})()
		err := p.Write(p.ctx, "a", nil)
		<-called
		return err
	}},
}

var contextCases = []scenario{
	{name: "done before", before: "a=1", readOnly: true, do: check(func(p *probe) {
		ctx, cancel := context.WithCancel(p.ctx)
		cancel()
		_, readErr := p.Read(ctx, "a")
		_, manyErr := p.ReadMany(ctx, filesOf("a"))
		_, listErr := p.List(ctx, "", store.ListOptions{})
		for op, err := range map[string]error{
			"read": readErr, "read many": manyErr, "list": listErr,
			"write": p.Write(ctx, "a", nil), "delete": p.Delete(ctx, "a"),
		} {
			if !errors.Is(err, context.Canceled) {
				p.Errorf("%s: %v", op, err)
			}
		}
	})},
	{name: "done while waiting for the write lock", before: "a=1", after: "a=2", events: "updated a",
		do: batch(func(p *probe, b *store.Batch) error {
			ctx, cancel := context.WithCancel(p.ctx)
			waiting := make(chan error)
			go func() { waiting <- p.Write(ctx, "a", nil) }()
			cancel()
			if err := <-waiting; !errors.Is(err, context.Canceled) {
				p.Errorf("got %v", err)
			}
			return b.Write(p.ctx, "a", []byte("2"))
		})},
}
