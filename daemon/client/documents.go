package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"evalctl/daemon/protocol"
)

func (b *Brain) document(method, endpoint, path string) request {
	return request{method: method, path: b.path + "/documents" + endpoint, query: url.Values{"path": {path}}}
}

func goodPath(name, path string) refusal {
	return atMost(name, path, protocol.MaxDocumentPath)
}

// Read returns the content of a document, however large.
func (b *Brain) Read(ctx context.Context, path string) ([]byte, error) {
	r := b.document(http.MethodGet, "/read", path)
	if err := r.check(goodPath("path", path)); err != nil {
		return nil, err
	}
	r.accept = protocol.TypeBytes
	return b.c.fetch(ctx, r, 0)
}

// Exists reports whether path is a document or a directory. In a brain that does
// not exist, nothing does. Any failure but 404 is an error.
func (b *Brain) Exists(ctx context.Context, path string) (bool, error) {
	r := b.document(http.MethodHead, "", path)
	if err := r.check(goodPath("path", path)); err != nil {
		return false, err
	}
	switch err := b.c.send(ctx, r); {
	case err == nil:
		return true, nil
	case IsNotFound(err):
		return false, nil
	default:
		return false, err
	}
}

// Stat describes a document or directory.
func (b *Brain) Stat(ctx context.Context, path string) (protocol.FileInfo, error) {
	r := b.document(http.MethodGet, "/stat", path)
	if err := r.check(goodPath("path", path)); err != nil {
		return protocol.FileInfo{}, err
	}
	return call[protocol.FileInfo](ctx, b.c, r)
}

// ListOptions selects entries of a listing (spec 4.2). The zero value lists
// the immediate children of a directory without generated files.
type ListOptions struct {
	Recursive        bool
	IncludeGenerated bool
	Glob             string // for base names; empty keeps all
}

// List returns the entries of dir, "" being the root, ascending by path. More
// than protocol.MaxListItems are refused by the daemon: narrow the listing.
func (b *Brain) List(ctx context.Context, dir string, opts ListOptions) ([]protocol.FileInfo, error) {
	// dir is sent also when empty: a listing without any of these parameters
	// is another one.
	q := url.Values{"dir": {dir}, "recursive": {strconv.FormatBool(opts.Recursive)}, "include_generated": {strconv.FormatBool(opts.IncludeGenerated)}}
	if opts.Glob != "" {
		q.Set("glob", opts.Glob)
	}
	r := request{method: http.MethodGet, path: b.path + "/documents", query: q}
	if err := r.check(goodPath("dir", dir), goodPath("glob", opts.Glob)); err != nil {
		return nil, err
	}
	list, err := call[protocol.FileList](ctx, b.c, r)
	return list.Items, err
}

// Write sets the content of a document, at most protocol.MaxWriteBytes.
func (b *Brain) Write(ctx context.Context, path string, data []byte) error {
	return b.put(ctx, b.document(http.MethodPut, "", path), path, data)
}

// Append extends a document, or creates it, by at most protocol.MaxWriteBytes.
// Repeating it repeats the bytes.
func (b *Brain) Append(ctx context.Context, path string, data []byte) error {
	return b.put(ctx, b.document(http.MethodPost, "/append", path), path, data)
}

func (b *Brain) put(ctx context.Context, r request, path string, data []byte) error {
	if err := r.check(goodPath("path", path), sized("content", len(data), protocol.MaxWriteBytes)); err != nil {
		return err
	}
	r.contentType, r.body = protocol.TypeBytes, data
	return b.c.send(ctx, r)
}

// Delete removes a document.
func (b *Brain) Delete(ctx context.Context, path string) error {
	r := b.document(http.MethodDelete, "", path)
	// Without a path the endpoint is another one.
	if path == "" {
		return r.check(refusal{http.StatusBadRequest, "path is empty"})
	}
	if err := r.check(goodPath("path", path)); err != nil {
		return err
	}
	return b.c.send(ctx, r)
}

// Rename moves a document and overwrites the destination.
func (b *Brain) Rename(ctx context.Context, from, to string) error {
	r := request{method: http.MethodPost, path: b.path + "/documents/rename"}
	if err := r.check(goodPath("from", from), goodPath("to", to)); err != nil {
		return err
	}
	if err := r.json(protocol.Rename{From: from, To: to}); err != nil {
		return err
	}
	return b.c.send(ctx, r)
}

// Commit applies a batch as a whole and returns how many operations it had:
// at most protocol.MaxBatchOps, with protocol.MaxBatchBytes of content.
func (b *Brain) Commit(ctx context.Context, batch protocol.Batch) (int, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents/batch-ops"}
	if err := r.check(batchRefusals(batch)...); err != nil {
		return 0, err
	}
	if batch.Ops == nil {
		batch.Ops = []protocol.BatchOp{} // null is no array
	}
	if err := r.json(batch); err != nil {
		return 0, err
	}
	result, err := call[protocol.BatchResult](ctx, b.c, r)
	return result.Committed, err
}

func batchRefusals(batch protocol.Batch) []refusal {
	var no []refusal
	for _, text := range [][2]string{{"reason", batch.Reason}, {"message", batch.Message}, {"author", batch.Author}, {"email", batch.Email}} {
		no = append(no, sized(text[0], len(text[1]), protocol.MaxBatchText), atMost(text[0], text[1], len(text[1])))
	}
	if n := len(batch.Ops); n > protocol.MaxBatchOps {
		no = append(no, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the batch has %d operations, the limit is %d", n, protocol.MaxBatchOps)})
	}
	total := 0
	for i, op := range batch.Ops {
		total += len(op.Content)
		no = append(no, goodPath(fmt.Sprintf("path of op %d", i), op.Path), goodPath(fmt.Sprintf("destination of op %d", i), op.To))
		if writes := op.Type == protocol.OpWrite || op.Type == protocol.OpAppend; writes && op.Content == nil {
			no = append(no, refusal{http.StatusBadRequest, fmt.Sprintf("op %d has no content", i)})
		}
	}
	return append(no, sized("the content of the batch", total, protocol.MaxBatchBytes))
}
