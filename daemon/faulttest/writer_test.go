package faulttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// logPath is the document of each brain to which all clients append.
const logPath = "log.md"

// writer is a client that writes to every brain, to paths of its own, one request after the other.
type writer struct {
	id     int
	w      *world
	rng    *rand.Rand
	n      int // of the last write
	models []*model
}

// model is what a writer knows about its documents in a brain.
type model struct {
	brain string
	// acked are the documents as acknowledged.
	acked map[string]string
	// unknown are the writes of which it is not known whether they were applied. Their paths are
	// not written again, because they might be applied at any time.
	unknown []atomicWrite
	retired map[string]bool
	// appended and maybe are the lines of the log that were acknowledged, and those with an unknown
	// outcome.
	appended, maybe []string
}

// atomicWrite changes all of its paths or none. A nil text is a path without a document.
type atomicWrite struct {
	what          string
	before, after map[string]*string
}

func newWriter(w *world, id int, seed uint64) *writer {
	c := &writer{id: id, w: w, rng: rand.New(rand.NewPCG(seed, uint64(id)))}
	for _, brain := range w.brains {
		c.models = append(c.models, &model{brain: brain, acked: map[string]string{}, retired: map[string]bool{}})
	}
	return c
}

// run writes until ctx ends.
func (c *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.w.running.RLock()
		// A request that has begun is finished: its outcome shall be known.
		c.step(context.WithoutCancel(ctx))
		c.w.running.RUnlock()
	}
}

// step makes one write, and looks at it on other replicas.
func (c *writer) step(ctx context.Context) {
	m := c.models[c.rng.IntN(len(c.models))]
	c.n++
	if c.rng.IntN(20) == 0 {
		c.append(ctx, m)
		return
	}
	write, send := c.choose(m)
	if write == nil {
		return
	}
	if !c.sent(send(ctx, c.w.client(c.rng).Brain(m.brain)), write.what) {
		m.unknown = append(m.unknown, *write)
		for path := range write.after {
			delete(m.acked, path)
			m.retired[path] = true
		}
		return
	}
	for path, text := range write.after {
		delete(m.acked, path)
		if text != nil {
			m.acked[path] = *text
		}
	}
	if len(write.after) > 2 {
		c.w.counts.batches.Add(1)
	} else {
		c.w.counts.writes.Add(1)
	}
	c.look(ctx, m, write)
}

// sent reports whether a write was acknowledged. Every other answer leaves its outcome open, also
// one that says that nothing was written: that is checked in the end like all others.
func (c *writer) sent(err error, what string) bool {
	if err == nil {
		return true
	}
	c.w.counts.unknown.Add(1)
	c.w.failed(err, what)
	return false
}

// failed counts an error. One that says that the client was wrong, or that the daemon is, is a
// violation: faults are 503, or lost connections.
func (w *world) failed(err error, what string) {
	kind := "connection lost"
	if e, ok := errors.AsType[*client.Error](err); ok {
		kind = fmt.Sprintf("%d %s", e.Status, e.Problem.Code)
		if e.Status != http.StatusServiceUnavailable && (w.outage == nil || !w.outage(e.Status)) {
			w.violated("%s: %v", what, err)
		}
	}
	w.mu.Lock()
	w.rejected[kind]++
	w.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // as Retry-After asks, but sooner
}

type sending func(context.Context, *client.Brain) error

// word is found in one write only. It has no digits, so that it is one token.
func (c *writer) word() string {
	return "zq" + strings.Map(func(r rune) rune { return rune("bcdfghjklm"[r-'0']) }, fmt.Sprintf("%02d%08d", c.id, c.n)) + "x"
}

// wordOf returns the word of a text.
func wordOf(text string) string {
	_, rest, _ := strings.Cut(text, "wrote ")
	word, _, _ := strings.Cut(rest, " ")
	return word
}

func (c *writer) text(path string) *string {
	s := fmt.Sprintf("# Note %s\n\nClient %d wrote %s here.\n", path, c.id, c.word())
	return &s
}

// choose returns a write that no earlier one with an unknown outcome touches, nil for none.
func (c *writer) choose(m *model) (*atomicWrite, sending) {
	singles := m.singles()
	switch r := c.rng.IntN(100); {
	case r < 15:
		return c.batch(m)
	case r < 25 && len(singles) > 0:
		return c.rename(m, singles[c.rng.IntN(len(singles))])
	case r < 33 && len(singles) > 0:
		path := singles[c.rng.IntN(len(singles))]
		return &atomicWrite{what: c.what("delete", path), before: m.state(path), after: map[string]*string{path: nil}},
			func(ctx context.Context, b *client.Brain) error { return b.Delete(ctx, path) }
	}
	path := c.fresh(m, "n")
	text := c.text(path)
	return &atomicWrite{what: c.what("write", path), before: m.state(path), after: map[string]*string{path: text}},
		func(ctx context.Context, b *client.Brain) error { return b.Write(ctx, path, []byte(*text)) }
}

// batchSize is the number of documents of a batch, which all belong to one write.
const batchSize = 8

func (c *writer) batch(m *model) (*atomicWrite, sending) {
	folder := fmt.Sprintf("c%d/g%d", c.id, c.rng.IntN(4))
	for i := 0; m.retired[folder+"/0.md"]; i++ {
		folder = fmt.Sprintf("c%d/g%d-%d", c.id, c.n, i)
	}
	var paths []string
	for i := range batchSize {
		paths = append(paths, fmt.Sprintf("%s/%d.md", folder, i))
	}
	batch := protocol.Batch{Reason: fmt.Sprintf("batch %d of client %d", c.n, c.id)}
	after := map[string]*string{}
	for _, path := range paths {
		after[path] = c.text(path)
		batch.Ops = append(batch.Ops, protocol.BatchOp{Type: protocol.OpWrite, Path: path, Content: []byte(*after[path])})
	}
	return &atomicWrite{what: c.what("batch", folder), before: m.state(paths...), after: after},
		func(ctx context.Context, b *client.Brain) error {
			_, err := b.Commit(ctx, batch)
			return err
		}
}

func (c *writer) rename(m *model, from string) (*atomicWrite, sending) {
	to := c.fresh(m, "r")
	if from == to {
		return nil, nil
	}
	text := m.acked[from]
	return &atomicWrite{
			what: c.what("rename", from+" to "+to), before: m.state(from, to),
			after: map[string]*string{from: nil, to: &text},
		},
		func(ctx context.Context, b *client.Brain) error { return b.Rename(ctx, from, to) }
}

func (c *writer) what(kind, path string) string {
	return fmt.Sprintf("%s %s (client %d, write %d)", kind, path, c.id, c.n)
}

// singles returns the documents that are there and not part of a batch.
func (m *model) singles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.acked)), func(path string) bool { return strings.Contains(path, "/g") })
}

// fresh returns a path of a few that the writer uses again and again, and whose state is known.
func (c *writer) fresh(m *model, kind string) string {
	for i := 0; ; i++ {
		path := fmt.Sprintf("c%d/%s%d.md", c.id, kind, c.rng.IntN(20)+20*i)
		if !m.retired[path] {
			return path
		}
	}
}

func (m *model) state(paths ...string) map[string]*string {
	out := map[string]*string{}
	for _, path := range paths {
		out[path] = nil
		if text, ok := m.acked[path]; ok {
			out[path] = &text
		}
	}
	return out
}

func (c *writer) append(ctx context.Context, m *model) {
	line := fmt.Sprintf("c%d n%d", c.id, c.n)
	err := c.w.client(c.rng).Brain(m.brain).Append(ctx, logPath, []byte(line+"\n"))
	if c.sent(err, "append "+line) {
		m.appended = append(m.appended, line)
		c.w.counts.appends.Add(1)
	} else {
		m.maybe = append(m.maybe, line)
	}
}

// look checks that the write is seen by another request, which any replica may answer. Faults
// may make that request fail; an answer must not be older than the write.
func (c *writer) look(ctx context.Context, m *model, write *atomicWrite) {
	paths := slices.Sorted(maps.Keys(write.after))
	path := paths[c.rng.IntN(len(paths))]
	b := c.w.client(c.rng).Brain(m.brain)
	want := write.after[path]
	switch r := c.rng.IntN(10); {
	case r < 3:
		c.read(ctx, b, write.what, path, want)
	case r < 8 && want != nil:
		c.search(ctx, b, write.what, path, *want, true)
	case r < 8 && write.before[path] != nil:
		c.search(ctx, b, write.what, path, *write.before[path], false)
	}
}

func (c *writer) read(ctx context.Context, b *client.Brain, what, path string, want *string) {
	data, err := b.Read(ctx, path)
	switch {
	case client.IsNotFound(err):
		if want != nil {
			c.w.violated("%s was acknowledged, and then the document %s was not found", what, path)
		}
	case err != nil:
		c.w.failed(err, "read "+path)
		return
	case want == nil:
		c.w.violated("%s was acknowledged, and then %s could still be read: %q", what, path, data)
	case string(data) != *want:
		c.w.violated("%s was acknowledged, and then %s had %q, want %q", what, path, data, *want)
	}
	c.w.counts.reads.Add(1)
}

// search looks for a document with the word that only its text has.
func (c *writer) search(ctx context.Context, b *client.Brain, what, path, text string, want bool) {
	word := wordOf(text)
	res, err := b.Search(ctx, protocol.SearchRequest{Query: word, TopK: 20, Mode: protocol.ModeBM25})
	if err != nil {
		c.w.failed(err, "search")
		return
	}
	found := slices.ContainsFunc(res.Chunks, func(chunk protocol.SearchChunk) bool {
		return chunk.Path == path && strings.Contains(chunk.Text, word)
	})
	if found != want {
		c.w.violated("%s was acknowledged, and then a search for %s found its text at %s: %v, want %v", what, word, path, found, want)
	}
	c.w.counts.searches.Add(1)
}
