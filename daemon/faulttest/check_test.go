package faulttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/client"
)

// check compares what the clients know with what the daemon at url has. No client may be writing.
func (w *world) check(ctx context.Context, url string) {
	for i, brain := range w.brains {
		if err := w.checkBrain(ctx, url, i); err != nil {
			w.violated("%s at %s: after all faults: %v", brain, url, err)
		}
	}
}

// checkBrain returns an error if the brain cannot be read, or a document that is listed.
func (w *world) checkBrain(ctx context.Context, url string, i int) error {
	brain := w.brains[i]
	documents, err := documentsOf(ctx, w.at(url).Brain(brain))
	if err != nil {
		return err
	}
	w.checkLog(i, brain, documents[logPath])
	delete(documents, logPath)
	for _, writer := range w.writers {
		writer.models[i].check(w, documents)
	}
	for path := range documents {
		if w.foreign != nil && w.foreign(path) {
			continue
		}
		w.violated("%s has %s, which nobody wrote", brain, path)
	}
	return nil
}

// documentsOf returns all texts by their path.
func documentsOf(ctx context.Context, b *client.Brain) (map[string]string, error) {
	files, err := b.List(ctx, "", client.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range files {
		if f.IsDir {
			continue
		}
		data, err := b.Read(ctx, f.Path)
		if err != nil {
			return nil, err
		}
		out[f.Path] = string(data)
	}
	return out, nil
}

// check removes the documents of the model that are as they must be.
func (m *model) check(w *world, documents map[string]string) {
	for path, want := range m.acked {
		switch got, ok := documents[path]; {
		case !ok:
			w.violated("%s: the acknowledged document %s is gone: %q", m.brain, path, want)
		case got != want:
			w.violated("%s: %s has %q, acknowledged was %q", m.brain, path, got, want)
		}
		delete(documents, path)
	}
	for _, write := range m.unknown {
		if !same(write.before, documents) && !same(write.after, documents) {
			w.violated("%s: %s is half done: %s", m.brain, write.what, describe(write, documents))
		}
		for path := range write.after {
			delete(documents, path)
		}
	}
}

func same(want map[string]*string, documents map[string]string) bool {
	for path, text := range want {
		got, ok := documents[path]
		if ok != (text != nil) || ok && got != *text {
			return false
		}
	}
	return true
}

// describe reports which of the documents are as before and which as after.
func describe(write atomicWrite, documents map[string]string) string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(write.after)) {
		one := func(from map[string]*string) bool { return same(map[string]*string{path: from[path]}, documents) }
		state := "neither"
		switch {
		case one(write.before):
			state = "before"
		case one(write.after):
			state = "after"
		}
		out = append(out, path+": "+state)
	}
	return strings.Join(out, ", ")
}

// checkLog checks that each acknowledged line is there once, in the order of its client, and that
// each with an unknown outcome is there at most once.
func (w *world) checkLog(i int, brain, log string) {
	count, place := map[string]int{}, map[string]int{}
	for n, line := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		count[line]++
		place[line] = n
	}
	delete(count, "")
	for _, c := range w.writers {
		last := -1
		for _, line := range c.models[i].appended {
			if count[line] != 1 {
				w.violated("%s: the acknowledged line %q is %d times in %s", brain, line, count[line], logPath)
			} else if place[line] < last {
				w.violated("%s: line %q is before an earlier one of its client", brain, line)
			}
			last = place[line]
			delete(count, line)
		}
		for _, line := range c.models[i].maybe {
			if count[line] > 1 {
				w.violated("%s: line %q is %d times in %s", brain, line, count[line], logPath)
			}
			delete(count, line)
		}
	}
	for line := range count {
		w.violated("%s: %s has the line %q, which nobody wrote", brain, logPath, line)
	}
}

// isBatch reports whether a reason is that of a client's batch.
func isBatch(reason string) bool { return strings.HasPrefix(reason, "batch ") }

// checkOrder checks that commits are numbered without gaps and that the changes of a batch have one
// number.
func (w *world) checkOrder(brain string, changes []change) {
	batches := map[string]int64{}
	for i, c := range changes {
		if i > 0 && c.seq != changes[i-1].seq && c.seq != changes[i-1].seq+1 {
			w.violated("%s: commit %d follows %d", brain, c.seq, changes[i-1].seq)
		}
		if !isBatch(c.note) {
			continue
		}
		if seq, ok := batches[c.note]; ok && seq != c.seq {
			w.violated("%s: the batch %s has commits %d and %d", brain, c.note, seq, c.seq)
		}
		batches[c.note] = c.seq
	}
}

// checkStreams waits until the attached streams have got every change, and checks all of them.
func (w *world) checkStreams(ctx context.Context) {
	if w.truth == nil {
		return
	}
	begun := time.Now()
	for _, brain := range w.brains {
		changes := w.truth.changes(brain)
		w.checkOrder(brain, changes)
		for _, v := range w.watchers {
			if v.brain != brain {
				continue
			}
			for v.behind(changes) && time.Since(begun) < w.settle && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			v.check(changes)
		}
	}
}

// ready waits until each replica answers for each brain.
func (w *world) ready(ctx context.Context) error {
	begun := time.Now()
	for i := 0; ; i++ {
		err := w.answer(ctx)
		if err == nil || time.Since(begun) > w.settle {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *world) answer(ctx context.Context) error {
	for _, url := range w.urls() {
		c := w.at(url)
		health, err := c.Health(ctx)
		if err != nil {
			return err
		}
		if !health.Ready {
			return fmt.Errorf("%s is not ready", url)
		}
		for _, brain := range w.brains {
			if _, err := c.Brain(brain).Stat(ctx, logPath); err != nil && !client.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
