package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/leak"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/jsonobj"
	"evalctl/internal/retry"
	"evalctl/internal/visible"
)

// probes is the number of passages requested by a search for a text.
const probes = 10

// settle waits until searches find the documents written last, for at most Config.Settle. The
// question is asked even if they are not found by then.
func (g *group) settle(ctx context.Context) error {
	defer clear(g.written)
	for brain, path := range g.written {
		text, ok := g.contents.Text(brain, path)
		if !ok {
			continue
		}
		known := dataset.PathsOf(g.contents.Docs(brain))
		words, former := visible.Words(text), g.former[document{brain, path}]
		err := g.run.poll(ctx, g.ids[brain], queryOf(text), func(chunks []result.Chunk) bool {
			return slices.ContainsFunc(chunks, func(c result.Chunk) bool {
				own := visible.Words(c.Text)
				part := own != "" && strings.Contains(words, own)
				return (part || known.Name(c.Path) == path) && !stale(own, words, former)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stale reports whether a passage may be of an earlier text of a document and not of its text
// now. If the earlier ones contain all of the text, nothing tells them apart.
func stale(passage, text string, former []string) bool {
	hold := func(part string) bool {
		return slices.ContainsFunc(former, func(f string) bool { return strings.Contains(f, part) })
	}
	return passage != "" && hold(passage) && (!hold(text) || !strings.Contains(text, passage))
}

// queryOf returns the end of a document as a query. The end is more specific than the front matter.
func queryOf(text string) string {
	const most = 24
	words := strings.Fields(text)
	return strings.Join(words[max(0, len(words)-most):], " ")
}

// poll searches until done returns true or Config.Settle has passed. A failed search is an error
// only if ctx has ended: otherwise the question will show the failure.
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
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// watch lists what must not come back to a question of a brain.
type watch struct {
	id    string // of the brain
	texts []string
	// deleted and renamed are paths without a document now; known has every path that the brain
	// ever had.
	deleted, renamed []string
	known            *dataset.Paths
	sessions         []string
	origin           func(text string) result.Origin
}

// look asks a question and looks for texts that must not come back: in the answer, in searches for
// them, in a recall of each session, in the records, and in the lists of the brain. It also looks
// there for deleted documents.
func (r *Run) look(ctx context.Context, w watch, ask func() (target.Answer, error)) (target.Answer, error) {
	leaks := leak.NewFinder(w.texts)
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
			return a, asFailure(ctx, err)
		}
		for _, one := range all {
			leaks.LookJSON(one.Place, one.At, one.Value)
			w.lookListed(leaks, one)
		}
	}
	a.Leaks = leaks.Found
	return a, nil
}

// lookListed looks for deleted and renamed documents in a list of documents.
func (w watch) lookListed(leaks *leak.Finder, list target.Listing) {
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

// lookPath adds a leak if one of the names is the path of a document in gone.
func (w watch) lookPath(leaks *leak.Finder, place result.Place, at string, gone []string, names ...string) {
	for _, name := range names {
		if path := w.known.Name(name); name != "" && slices.Contains(gone, path) {
			leaks.Add(result.Leak{Text: path, Place: place, At: at, Origin: result.OfDeleted})
			return
		}
	}
}

// probe searches for a text that must not come back, also in each session, until it is not found
// any more or poll ends. A recall that the service leaves unanswered is an error: it might have
// returned the text.
func (r *Run) probe(ctx context.Context, leaks *leak.Finder, w watch, text string) error {
	recaller, lacks := target.Find[target.Recaller](r.Target.Service, target.Sessions)
	var last []result.Leak
	var open error // of a recall
	err := r.poll(ctx, w.id, text, func(chunks []result.Chunk) bool {
		found := leaks.Again()
		open = nil
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
			} else if target.Unanswered(err) {
				open = fmt.Errorf("recall %q in session %s: %w", text, session, err)
			}
		}
		last = found.Found
		return len(last) == 0 && open == nil
	})
	if err == nil && open != nil && len(last) == 0 {
		err = asFailure(ctx, open)
	}
	for _, l := range last {
		leaks.Add(l)
	}
	return err
}
