package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
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
		text := visible.Words(string(docs[i].Data))
		err := g.run.poll(ctx, g.ids[brain], queryOf(docs[i].Data), func(chunks []result.Chunk) bool {
			return slices.ContainsFunc(chunks, func(c result.Chunk) bool {
				return strings.HasSuffix(visible.Path(c.Path), visible.Path(path)) || c.Text != "" && strings.Contains(text, visible.Words(c.Text))
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

// watch is what must not come back to a question of a brain.
type watch struct {
	id    string // of the brain
	texts []string
	// deleted and renamed are the paths that no document of the brain has any more, and known all
	// that it had at any time.
	deleted, renamed []string
	known            *dataset.Paths
	sessions         []string
	origin           func(text string) result.Origin
}

// look asks a question and looks for texts that must not come back: in the answer, and in what a
// search for them, a recall of each session, the records and the lists of the brain return. It
// looks for deleted documents in these places too.
func (r *Run) look(ctx context.Context, w watch, ask func() (target.Answer, error)) (target.Answer, error) {
	leaks := result.NewLeaks(w.texts)
	leaks.Origin = w.origin
	texts := leaks.Texts()
	if len(texts)+len(w.deleted)+len(w.renamed) == 0 {
		return ask()
	}
	for _, text := range texts {
		if err := r.probe(ctx, leaks, w, text); err != nil {
			return target.Answer{Reply: result.Reply{Attempts: 1}}, err
		}
	}
	probed := leaks.Found
	leaks = leaks.Again()
	a, err := ask()
	if err != nil {
		return a, err
	}
	leaks.LookAnswer(a.Answer, a.Retrieved, a.Citations)
	for i, c := range a.Retrieved {
		w.lookPath(leaks, result.InChunk, fmt.Sprintf("retrieved[%d].path", i), w.deleted, c.Path, c.DocumentID)
	}
	for i, e := range a.Events {
		leaks.LookJSON(result.InEvent, fmt.Sprintf("event %d (%.40s)", i+1, e.Name), e.Data)
	}
	leaks.Found = append(leaks.Found, probed...)
	if recorder, err := target.Find[target.Recorder](r.Target.Service, target.Records); err == nil {
		all, err := recorder.Records(ctx, w.id)
		if err != nil {
			return a, err
		}
		for _, one := range all {
			leaks.LookJSON(one.Place, one.At, one.Value)
			w.lookListed(leaks, one)
		}
	}
	a.Leaks = leaks.Found
	return a, nil
}

// lookListed looks for documents that are gone in a list of documents.
func (w watch) lookListed(leaks *result.Leaks, list target.Listing) {
	gone := slices.Concat(w.deleted, w.renamed)
	i := 0
	for element := range jsonobj.Elements(list.Value) {
		if o, err := jsonobj.Parse(element); err == nil {
			at := fmt.Sprintf("%s[%d]", list.At, i)
			w.lookPath(leaks, list.Place, at, gone, o.Text("path"), o.Text("document_id", "documentId"), o.Text("id"))
		}
		i++
	}
}

// lookPath adds a document that is gone if one of the names is its path.
func (w watch) lookPath(leaks *result.Leaks, place result.Place, at string, gone []string, names ...string) {
	for _, name := range names {
		if path := w.known.Name(name); name != "" && slices.Contains(gone, path) {
			leaks.Add(result.Leak{Text: path, Place: place, At: at, Origin: result.OfDeleted})
			return
		}
	}
}

// probe searches for a text that must not come back, also in each session, until it does not.
func (r *Run) probe(ctx context.Context, leaks *result.Leaks, w watch, text string) error {
	recaller, lacks := target.Find[target.Recaller](r.Target.Service, target.Sessions)
	var last []result.Leak
	err := r.poll(ctx, w.id, text, func(chunks []result.Chunk) bool {
		found := leaks.Again()
		look := func(how string, chunks []result.Chunk) {
			for i, c := range chunks {
				at := fmt.Sprintf("%s: [%d]", how, i)
				found.LookChunk(at, c)
				w.lookPath(found, result.InChunk, at+".path", w.deleted, c.Path, c.DocumentID)
			}
		}
		look("a search for it", chunks)
		for _, session := range w.sessions {
			if lacks != nil {
				break
			}
			recalled, err := recaller.Recall(ctx, w.id, session, text, probes)
			if err == nil { // a service without sessions has none that could return it
				look("a recall of it in session "+session, recalled)
			}
		}
		last = found.Found
		return len(last) == 0
	})
	for _, l := range last {
		leaks.Add(l)
	}
	return err
}
