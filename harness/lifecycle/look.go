package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// probes is how many passages a search for a text looks at.
const probes = 10

// settle waits until a search finds the documents that were written last, for as long as
// Config.Settle. A service that has not found them by then is asked nevertheless.
func (g *group) settle(ctx context.Context) error {
	defer clear(g.written)
	for brain, path := range g.written {
		docs := g.contents.Docs(brain)
		i := slices.IndexFunc(docs, func(d dataset.Doc) bool { return d.Path == path })
		if i < 0 {
			continue
		}
		text := result.Folded(string(docs[i].Data))
		err := g.run.poll(ctx, g.ids[brain], queryOf(docs[i].Data), func(chunks []result.Chunk) bool {
			return slices.ContainsFunc(chunks, func(c result.Chunk) bool {
				return strings.HasSuffix(c.Path, path) || c.Text != "" && strings.Contains(text, result.Folded(c.Text))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queryOf returns the end of a document as a query, which is more specific than its front matter.
func queryOf(text []byte) string {
	const most = 24
	words := strings.Fields(string(text))
	return strings.Join(words[max(0, len(words)-most):], " ")
}

// poll searches until done, or until Config.Settle has passed. A search that fails is an error only
// if ctx has ended: the question will show what is wrong.
func (r *Run) poll(ctx context.Context, id, query string, done func([]result.Chunk) bool) error {
	end, wait := time.Now().Add(r.Settle), 5*time.Millisecond
	for {
		chunks, err := r.store().Search(ctx, id, query, probes)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && done(chunks), time.Now().Add(wait).After(end):
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// look asks a question and looks for texts that must not come back: in the answer, and in what a
// search for them, the records and the lists of the brain return.
func (r *Run) look(
	ctx context.Context, q dataset.Question, id string, forbidden []string, ask func() (target.Answer, error),
) (target.Answer, error) {
	leaks := result.NewLeaks(forbidden)
	texts := leaks.Texts()
	if len(texts) == 0 {
		return ask()
	}
	for _, text := range texts {
		if err := r.probe(ctx, leaks, id, text); err != nil {
			return target.Answer{Attempts: 1}, err
		}
	}
	probed := leaks.Found
	leaks = leaks.Again()
	a, err := ask()
	if err != nil {
		return a, err
	}
	leaks.LookAnswer(a.Text, a.Retrieved, a.Citations)
	for i, e := range a.Events {
		leaks.LookJSON(result.InEvent, fmt.Sprintf("event %d (%.40s)", i+1, e.Name), e.Data)
	}
	leaks.Found = append(leaks.Found, probed...)
	if e, ok := r.Target.Service.(*target.Endpoint); ok {
		for _, list := range []struct {
			place result.Place
			path  string
		}{
			{result.InList, "/documents?dir=&recursive=true"}, {result.InRecord, "/documents"},
		} {
			o, err := e.Object(ctx, target.Request{Method: http.MethodGet, Path: target.BrainPath(id) + list.path})
			if err == nil {
				for _, m := range o {
					leaks.LookJSON(list.place, "GET "+list.path+": "+string(m.Key), m.Value)
				}
			} else if ctx.Err() != nil {
				return a, context.Cause(ctx)
			}
		}
	}
	a.Leaks = leaks.Found
	return a, nil
}

// probe searches for a text that must not come back, until it does not.
func (r *Run) probe(ctx context.Context, leaks *result.Leaks, id, text string) error {
	var last []result.Leak
	err := r.poll(ctx, id, text, func(chunks []result.Chunk) bool {
		found := leaks.Again()
		for i, c := range chunks {
			found.LookChunk(fmt.Sprintf("a search for it: [%d]", i), c)
		}
		last = found.Found
		return len(last) == 0
	})
	for _, l := range last {
		leaks.Add(l)
	}
	return err
}
