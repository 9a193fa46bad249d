package target

import (
	"cmp"
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
	"evalctl/internal/jsonobj"
)

// A batch stays well below the limits of spec 8, so that several can be sent concurrently and a
// slow daemon answers each in time.
const (
	batchDocs  = 256
	batchBytes = protocol.MaxBatchBytes / 4
)

// timeForDoc is added to the request's time limit for each document of a batch.
const timeForDoc = 250 * time.Millisecond

// batchReason is the reason recorded by the daemon for a batch.
const batchReason = "evalctl seed"

// Write implements Store. A single document is sent without a batch, unless it is too large for
// that.
func (s *protocolStore) Write(ctx context.Context, id string, docs []dataset.Doc, writers int) error {
	if len(docs) == 0 {
		return nil
	}
	single := len(docs) == 1 && len(docs[0].Data) <= protocol.MaxWriteBytes
	w := docWriter{store: s, brain: id, writers: writers, single: single}
	last := len(docs) - 1
	if err := w.write(ctx, docs[:last]); err != nil {
		return err
	}
	return w.write(ctx, docs[last:])
}

// docWriter writes documents to one brain, in batches (spec 4.2) or one by one if the daemon does
// not serve batches.
type docWriter struct {
	store   *protocolStore
	brain   string
	writers int // concurrent requests
	single  bool
}

// write returns when all documents are written. The first batch is sent alone to see whether the
// daemon serves batches.
func (w *docWriter) write(ctx context.Context, docs []dataset.Doc) error {
	chunks := batches(docs)
	if !w.single && len(chunks) > 0 {
		err := w.store.putBatch(ctx, w.brain, chunks[0])
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
			g.Go(func() error { return w.store.putBatch(gctx, w.brain, chunk) })
			continue
		}
		for _, doc := range chunk {
			g.Go(func() error { return w.store.put(gctx, w.brain, doc) })
		}
	}
	return g.Wait()
}

// batches divides documents into runs of at most batchDocs and batchBytes, with at least one
// document each.
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

// putBatch writes documents in one request, or in halves if the daemon's limit is lower. Writing a
// document twice is harmless.
func (s *protocolStore) putBatch(ctx context.Context, id string, docs []dataset.Doc) error {
	ops := make([]protocol.BatchOp, len(docs))
	for i, doc := range docs {
		ops[i] = protocol.BatchOp{
			Type: protocol.OpWrite, Path: result.SeedRoot + doc.Path, Content: doc.Data,
		}
	}
	err := s.batch(ctx, id, ops)
	if hasStatus(err, http.StatusRequestEntityTooLarge) && len(docs) > 1 {
		half := len(docs) / 2
		if err := s.putBatch(ctx, id, docs[:half]); err != nil {
			return err
		}
		return s.putBatch(ctx, id, docs[half:])
	}
	if err != nil {
		return fmt.Errorf("write a batch of %d documents from %s on: %w", len(docs), docs[0].Path, err)
	}
	return nil
}

// batch sends operations in one request.
func (s *protocolStore) batch(ctx context.Context, id string, ops []protocol.BatchOp) error {
	body, err := json.Marshal(protocol.Batch{Reason: batchReason, Ops: ops})
	if err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}
	var o jsonobj.Object
	within := CallTimeout + time.Duration(len(ops))*timeForDoc
	err = Retry(ctx, within, func(ctx context.Context) (err error) {
		o, err = s.endpoint.Object(ctx, Request{
			Method: http.MethodPost, Path: BrainPath(id) + "/documents/batch-ops",
			ContentType: protocol.TypeJSON, Body: body,
		})
		return err
	})
	if err != nil {
		return err
	}
	if n, err := o.Number("committed"); err != nil || n != float64(len(ops)) {
		return fmt.Errorf("the daemon reports %.40s committed documents", cmp.Or(string(o.Get("committed")), "0"))
	}
	return nil
}

// put writes one document.
func (s *protocolStore) put(ctx context.Context, id string, doc dataset.Doc) error {
	err := Retry(ctx, CallTimeout, func(ctx context.Context) error {
		res, err := s.endpoint.Do(ctx, Request{
			Method:      http.MethodPut,
			Path:        BrainPath(id) + "/documents?path=" + url.QueryEscape(result.SeedRoot+doc.Path),
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
