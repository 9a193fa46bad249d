package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/visible"
)

// maxName limits the name of a brain before the suffix of the run is added.
const maxName = 48

// group is a set of brains that change together. Only one question uses it at a time.
type group struct {
	run   *Run
	names []string

	// ids are the service's ids by name, nil if the brains must be created. The brains contain what
	// the questions up to line wrote in this repeat.
	ids          map[string]string
	line, repeat int
	timeout      time.Duration // of the question
	contents     *dataset.Contents
	// written has the last document written to each brain since it settled, and former the
	// earlier texts of documents, which searches may still return.
	written map[string]string
	former  map[document][]string
}

// document identifies a document of a group.
type document struct{ brain, path string }

// brainsOf returns the brains named by a question and its operations.
func brainsOf(q dataset.Question) []string {
	names := []string{q.Brain}
	for _, o := range q.Before {
		if in := o.In(q.Brain); !slices.Contains(names, in) {
			names = append(names, in)
		}
	}
	return names
}

// prepare brings the brains to the state in which a question is asked: the operations of the
// earlier questions of the file are applied, then the operations of this one. lacks names an
// operation that the service does not support.
func (g *group) prepare(ctx context.Context, q dataset.Question, timeout time.Duration) (lacks string, err error) {
	g.timeout = timeout
	if g.ids == nil || g.line >= q.Line || g.repeat != q.Repeat {
		g.remove(ctx)
		if err := g.create(ctx); err != nil {
			return "", err
		}
		g.repeat = q.Repeat
	}
	if !g.run.Dataset.Isolated() {
		for _, s := range g.run.Dataset.Steps(q.Brain, g.line, q.Line) {
			if err := g.apply(ctx, s.Brain, s.Before, false); err != nil {
				return lack(ctx, fmt.Errorf("brain %s is not what the question needs: line %d: %w", q.Brain, s.Line, err))
			}
		}
	}
	if err := g.apply(ctx, q.Brain, q.Before, true); err != nil {
		return lack(ctx, err)
	}
	g.line = q.Line
	return "", g.settle(ctx)
}

// watch returns the texts and documents that must not come back to a question. Its operations must
// have been applied.
func (g *group) watch(q dataset.Question) watch {
	c := g.contents
	known := dataset.PathsOf(c.Docs(q.Brain))
	for _, gone := range [][]string{c.Deleted(q.Brain), c.Renamed(q.Brain)} {
		for _, path := range gone {
			known.Add(path, nil)
		}
	}
	return watch{
		id: g.ids[q.Brain], texts: slices.Concat(q.Forbidden, c.Gone(q.Brain, q.Question)),
		deleted: c.Deleted(q.Brain), renamed: c.Renamed(q.Brain), known: known, sessions: c.Sessions(q.Brain),
		origin: func(text string) result.Origin { return cmp.Or(c.Origin(q.Brain, text), g.run.origin(q.Brain, text)) },
	}
}

// lack turns the error of an unsupported operation into the reason why a question cannot be asked.
func lack(ctx context.Context, err error) (string, error) {
	if errors.Is(err, target.ErrLacks) {
		return err.Error(), nil
	}
	return "", asFailure(ctx, err)
}

// asFailure returns an error as the failure of one question, with its full text, unless it concerns
// the whole run.
func asFailure(ctx context.Context, err error) error {
	f, ok := target.AsFailure(err)
	switch {
	case ok:
	case errors.Is(err, target.ErrNoAnswer) && ctx.Err() == nil:
		f = target.NewFailure(result.KindTimeout, "")
	default:
		return err
	}
	failed := *f
	failed.Message = err.Error()
	return &failed
}

// create creates the brains and writes the documents of the corpus to them.
func (g *group) create(ctx context.Context) error {
	g.ids, g.line, g.contents = map[string]string{}, 0, dataset.NewContents()
	g.written, g.former = map[string]string{}, map[document][]string{}
	defer g.run.Filling()()
	for _, name := range g.names {
		b := seed.NewBrain(g.run.Target.Service, g.run.Target.Dialect, g.run.name(name))
		if err := b.Create(ctx); err != nil {
			return asFailure(ctx, err)
		}
		g.ids[name] = b.ID()
		docs := g.run.docs[name]
		g.contents.AddDocs(name, docs)
		if len(docs) == 0 {
			continue
		}
		if err := b.Seed(ctx, docs, 1); err != nil {
			return asFailure(ctx, err)
		}
	}
	return nil
}

// name returns a unique name for a brain at the service.
func (r *Run) name(brain string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.named++
	return fmt.Sprintf("%s-%s%x", brain[:min(len(brain), maxName)], r.nonce, r.named)
}

// remove removes the brains by the rules of seed.RemoveEach. Run.Close tries again to remove those
// that are left, but not at a mapped service, which reports them in its findings.
func (g *group) remove(ctx context.Context) {
	ids := g.ids
	g.ids = nil
	_ = seed.RemoveEach(ctx, slices.Collect(maps.Keys(ids)), func(ctx context.Context, name string) error {
		err := g.run.store().Remove(ctx, ids[name], name)
		if err == nil {
			delete(ids, name)
		}
		return err
	})
	if g.run.Target.Service.Lacks(target.Protocol) == "" {
		g.run.mu.Lock()
		g.run.left = slices.AppendSeq(g.run.left, maps.Values(ids))
		g.run.mu.Unlock()
	}
}

func (r *Run) store() target.Store { return r.Target.Service.Store(r.Target.Dialect) }

// apply executes operations of a question asked in brain. Without restart, restarts are skipped:
// the restart for an earlier question changed nothing.
func (g *group) apply(ctx context.Context, brain string, ops []dataset.Operation, restart bool) error {
	for i, o := range ops {
		in := o.In(brain)
		var err error
		if g.contents.Overwrites(in, o) {
			err = target.Needs(g.run.Target.Service, target.Overwrite)
		}
		if err != nil {
			return fmt.Errorf("before[%d] (%s): %w", i, o, err)
		}
		for _, path := range []string{o.Path, o.To} {
			if text, ok := g.contents.Text(in, path); ok {
				g.keepFormer(document{in, path}, visible.Words(text))
			}
		}
		if err := g.contents.Apply(in, o); err != nil {
			return fmt.Errorf("before[%d]: %w", i, err) // which reading the dataset has ruled out
		}
		switch {
		case o.Op == dataset.OpRestart && restart:
			if err = g.settle(ctx); err == nil {
				err = g.run.restart(ctx, g)
			}
		case o.Op == dataset.OpRestart:
		default:
			err = g.operate(ctx, in, o)
		}
		if err != nil {
			return fmt.Errorf("before[%d] (%s): %w", i, o, err)
		}
		g.note(in, o)
	}
	return nil
}

// keepFormer keeps the text of a document that is about to change. If it begins with the one
// before, that one is part of it.
func (g *group) keepFormer(d document, text string) {
	texts := g.former[d]
	if last := len(texts) - 1; last >= 0 && strings.HasPrefix(text, texts[last]) {
		texts[last] = text
		return
	}
	g.former[d] = append(texts, text)
}

// operate makes an operation at the service.
func (g *group) operate(ctx context.Context, brain string, o dataset.Operation) error {
	defer g.run.Filling()()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if target.AsksModel(o.Op) {
		limited, cancel = target.QuestionLimit(ctx, g.timeout, 0)
	}
	defer cancel()
	err := g.run.store().Apply(limited, g.ids[brain], o)
	if err == nil && o.Source != "" {
		err = g.awaitExtracted(ctx, brain, o)
	}
	return err
}

// awaitExtracted searches for the text of an operation until the result has a document that no
// operation wrote, or until Config.Settle has passed.
func (g *group) awaitExtracted(ctx context.Context, brain string, o dataset.Operation) error {
	known := dataset.PathsOf(g.contents.Docs(brain))
	return g.run.poll(ctx, g.ids[brain], o.Text, func(chunks []result.Chunk) bool {
		return slices.ContainsFunc(chunks, func(c result.Chunk) bool { return c.Path != "" && !known.Has(known.Name(c.Path)) })
	})
}

// note records the document of a brain that was written last.
func (g *group) note(brain string, o dataset.Operation) {
	switch {
	case o.Op == dataset.OpPut, o.Op == dataset.OpAppend, o.Op == dataset.OpRemember && o.Path != "":
		g.written[brain] = o.Path
	case o.Op == dataset.OpRename && g.written[brain] == o.Path:
		g.written[brain] = o.To
	case o.Op == dataset.OpDelete && g.written[brain] == o.Path:
		delete(g.written, brain)
	}
}

// restart restarts the service for a question of a group. The brains of other groups are created
// again on demand: their questions do not test whether they survive. Where they do, Close removes
// them.
func (r *Run) restart(ctx context.Context, by *group) error {
	service, err := r.Restart(ctx)
	if err != nil {
		return fmt.Errorf("the daemon could not be restarted: %w", err)
	}
	r.Target.Service = service
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if g != by && g.ids != nil {
			r.left = slices.AppendSeq(r.left, maps.Values(g.ids))
			g.ids = nil
		}
	}
	return nil
}
