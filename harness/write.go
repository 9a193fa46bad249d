package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
)

// A batch stays well below the limits of spec 8, so that several can be under
// way at once and a slow daemon answers each in time.
const (
	batchDocs  = 256
	batchBytes = protocol.MaxBatchBytes / 4
)

// timeForDoc is what each document of a batch adds to the time for a call.
const timeForDoc = 250 * time.Millisecond

// docWriter writes documents to one brain: in batches (spec 4.2), or one by one
// where the daemon does not serve those.
type docWriter struct {
	endpoint *Endpoint
	brain    string
	writers  int
	single   bool
}

// write returns when all documents are written. The first batch goes alone: it
// tells whether there is such an endpoint.
func (w *docWriter) write(ctx context.Context, docs []Doc) error {
	chunks := batches(docs)
	if !w.single && len(chunks) > 0 {
		err := w.batch(ctx, chunks[0])
		switch {
		case notServed(err):
			w.single = true
		case err != nil:
			return err
		default:
			chunks = chunks[1:]
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(w.writers)
	for _, chunk := range chunks {
		if !w.single {
			g.Go(func() error { return w.batch(gctx, chunk) })
			continue
		}
		for _, doc := range chunk {
			g.Go(func() error { return w.put(gctx, doc) })
		}
	}
	return g.Wait()
}

// batches cuts documents into runs of at most batchDocs and batchBytes, and at
// least one document.
func batches(docs []Doc) [][]Doc {
	var out [][]Doc
	start, size := 0, 0
	for i, doc := range docs {
		if i > start && (i-start == batchDocs || size+len(doc.Data) > batchBytes) {
			out = append(out, docs[start:i])
			start, size = i, 0
		}
		size += len(doc.Data)
	}
	if start < len(docs) {
		out = append(out, docs[start:])
	}
	return out
}

// batch writes documents with one request, or with two of half the size when a
// daemon has a lower limit. Writing them again does no harm.
func (w *docWriter) batch(ctx context.Context, docs []Doc) error {
	batch := protocol.Batch{Reason: "evalctl seed"}
	for _, doc := range docs {
		batch.Ops = append(batch.Ops, protocol.BatchOp{Type: protocol.OpWrite, Path: SeedRoot + doc.Path, Content: doc.Data})
	}
	body, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}
	var o jsonobj.Object
	err = persist(ctx, callTimeout+time.Duration(len(docs))*timeForDoc, func(ctx context.Context) (err error) {
		o, err = w.endpoint.json(ctx, request{
			method: http.MethodPost, path: brainPath(w.brain) + "/documents/batch-ops",
			contentType: protocol.TypeJSON, body: body,
		})
		return err
	})
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusRequestEntityTooLarge && len(docs) > 1 {
		half := len(docs) / 2
		if err := w.batch(ctx, docs[:half]); err != nil {
			return err
		}
		return w.batch(ctx, docs[half:])
	}
	if err == nil && o.Number("committed") != float64(len(docs)) {
		err = fmt.Errorf("the daemon says that it committed %v", o.Number("committed"))
	}
	if err != nil {
		return fmt.Errorf("write a batch of %d documents from %s on: %w", len(docs), docs[0].Path, err)
	}
	return nil
}

func (w *docWriter) put(ctx context.Context, doc Doc) error {
	err := persist(ctx, callTimeout, func(ctx context.Context) error {
		res, err := w.endpoint.do(ctx, request{
			method:      http.MethodPut,
			path:        brainPath(w.brain) + "/documents?path=" + url.QueryEscape(SeedRoot+doc.Path),
			contentType: protocol.TypeBytes, accept: protocol.TypeJSON, body: doc.Data,
		})
		if err != nil {
			return err
		}
		return res.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("write document %s: %w", doc.Path, err)
	}
	return nil
}
