package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/jsonobj"
)

// A batch stays well below the limits of spec 8, so that several can be sent concurrently and a
// slow daemon answers each in time.
const (
	batchDocs  = 256
	batchBytes = protocol.MaxBatchBytes / 4
)

// timeForDoc is what each document of a batch adds to the time limit of the request.
const timeForDoc = 250 * time.Millisecond

// docWriter writes documents to one brain: in batches (spec 4.2), or one by one if the daemon does
// not serve batches.
type docWriter struct {
	brain   *Brain
	writers int // concurrent requests
	single  bool
}

// write returns when all documents are written. The first batch is sent alone, because it shows
// whether the daemon serves batches.
func (w *docWriter) write(ctx context.Context, docs []dataset.Doc) error {
	chunks := batches(docs)
	if !w.single && len(chunks) > 0 {
		err := w.brain.putBatch(ctx, chunks[0])
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
			g.Go(func() error { return w.brain.putBatch(gctx, chunk) })
			continue
		}
		for _, doc := range chunk {
			g.Go(func() error { return w.brain.put(gctx, doc) })
		}
	}
	return g.Wait()
}

// batches cuts documents into runs of at most batchDocs and batchBytes, and at least one document.
func batches(docs []dataset.Doc) [][]dataset.Doc {
	var out [][]dataset.Doc
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

// putBatch writes documents with one request, or with two of half the size if the daemon's limit is
// lower. Writing documents twice does no harm.
func (b *Brain) putBatch(ctx context.Context, docs []dataset.Doc) error {
	batch := protocol.Batch{Reason: "evalctl seed"}
	for _, doc := range docs {
		batch.Ops = append(batch.Ops, protocol.BatchOp{
			Type: protocol.OpWrite, Path: result.SeedRoot + doc.Path, Content: doc.Data,
		})
	}
	body, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}
	var o jsonobj.Object
	within := target.CallTimeout + time.Duration(len(docs))*timeForDoc
	err = target.Retry(ctx, within, func(ctx context.Context) (err error) {
		o, err = b.endpoint.Object(ctx, target.Request{
			Method: http.MethodPost, Path: b.path() + "/documents/batch-ops",
			ContentType: protocol.TypeJSON, Body: body,
		})
		return err
	})
	if hasStatus(err, http.StatusRequestEntityTooLarge) && len(docs) > 1 {
		half := len(docs) / 2
		if err := b.putBatch(ctx, docs[:half]); err != nil {
			return err
		}
		return b.putBatch(ctx, docs[half:])
	}
	if err == nil && o.Number("committed") != float64(len(docs)) {
		err = fmt.Errorf("the daemon reports %v committed documents", o.Number("committed"))
	}
	if err != nil {
		return fmt.Errorf("write a batch of %d documents from %s on: %w", len(docs), docs[0].Path, err)
	}
	return nil
}

// put writes one document.
func (b *Brain) put(ctx context.Context, doc dataset.Doc) error {
	err := target.Retry(ctx, target.CallTimeout, func(ctx context.Context) error {
		res, err := b.endpoint.Do(ctx, target.Request{
			Method:      http.MethodPut,
			Path:        b.path() + "/documents?path=" + url.QueryEscape(result.SeedRoot+doc.Path),
			ContentType: protocol.TypeBytes, Accept: protocol.TypeJSON, Body: doc.Data,
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
