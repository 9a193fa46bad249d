package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"evalctl/daemon/protocol"
)

func (b *Brain) document(method, endpoint, path string) request {
	return request{
		method: method, path: b.path + "/documents" + endpoint, query: url.Values{"path": {path}},
	}
}

func limitPath(name, path string) violation {
	return limitChars(name, path, protocol.MaxDocumentPath)
}

// Read returns the content of a document. Its size is not limited.
func (b *Brain) Read(ctx context.Context, path string) ([]byte, error) {
	r := b.document(http.MethodGet, "/read", path)
	r.check(limitPath("path", path))
	r.accept = protocol.TypeBytes
	return b.c.fetch(ctx, r, 0)
}

// Exists reports whether path is a document or a directory. In a missing brain, nothing exists. Any
// failure but 404 is an error.
func (b *Brain) Exists(ctx context.Context, path string) (bool, error) {
	r := b.document(http.MethodHead, "", path)
	r.check(limitPath("path", path))
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
	r.check(limitPath("path", path))
	return call[protocol.FileInfo](ctx, b.c, r)
}

// ListOptions select entries of a listing (spec 4.2). The zero value selects the immediate children
// of a directory except generated files.
type ListOptions struct {
	Recursive        bool
	IncludeGenerated bool
	Glob             string // of base names; empty matches all
}

// List returns the entries of dir, ascending by path. The root is "". More than
// protocol.MaxListItems are read in pages, between which other clients may change entries.
func (b *Brain) List(
	ctx context.Context, dir string, opts ListOptions,
) ([]protocol.FileInfo, error) {
	// dir is sent even when it is empty: without any of these parameters the daemon lists records.
	q := url.Values{
		"dir":               {dir},
		"recursive":         {strconv.FormatBool(opts.Recursive)},
		"include_generated": {strconv.FormatBool(opts.IncludeGenerated)},
	}
	if opts.Glob != "" {
		q.Set("glob", opts.Glob)
	}
	r := request{method: http.MethodGet, path: b.path + "/documents", query: q}
	r.check(limitPath("dir", dir), limitPath("glob", opts.Glob))
	list, err := call[protocol.FileList](ctx, b.c, r)
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusRequestEntityTooLarge {
		return list.Items, err
	}
	// Only now, because other daemons need not support pages.
	q.Set("limit", strconv.Itoa(protocol.MaxListItems))
	var all []protocol.FileInfo
	for {
		list, err := call[protocol.FileList](ctx, b.c, r)
		all = append(all, list.Items...)
		if err != nil || list.NextCursor == "" || list.NextCursor <= q.Get("cursor") {
			return all, err
		}
		q.Set("cursor", list.NextCursor)
	}
}

// Write creates or replaces a document. Content above protocol.MaxWriteBytes is not sent.
func (b *Brain) Write(ctx context.Context, path string, data []byte) error {
	return b.put(ctx, b.document(http.MethodPut, "", path), path, data)
}

// Append appends to a document, or creates it. Data above protocol.MaxWriteBytes is not sent. It is
// not safe to repeat: the data may be appended twice.
func (b *Brain) Append(ctx context.Context, path string, data []byte) error {
	return b.put(ctx, b.document(http.MethodPost, "/append", path), path, data)
}

func (b *Brain) put(ctx context.Context, r request, path string, data []byte) error {
	size := limitBytes("content", len(data), protocol.MaxWriteBytes)
	r.check(limitPath("path", path), size)
	r.contentType, r.body = protocol.TypeBytes, data
	return b.c.send(ctx, r)
}

// Delete removes a document.
func (b *Brain) Delete(ctx context.Context, path string) error {
	r := b.document(http.MethodDelete, "", path)
	if path == "" { // the daemon would delete by another parameter
		r.check(invalid("path is empty"))
	}
	r.check(limitPath("path", path))
	return b.c.send(ctx, r)
}

// Rename moves a document. It overwrites the destination.
func (b *Brain) Rename(ctx context.Context, from, to string) error {
	r := request{method: http.MethodPost, path: b.path + "/documents/rename"}
	r.check(limitPath("from", from), limitPath("to", to))
	r.json(protocol.Rename{From: from, To: to})
	return b.c.send(ctx, r)
}

// Commit applies a batch, all or nothing, and returns its number of operations. A batch of more
// than protocol.MaxBatchOps operations or protocol.MaxBatchBytes of content is not sent.
func (b *Brain) Commit(ctx context.Context, batch protocol.Batch) (int, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents/batch-ops"}
	r.check(batchViolations(batch)...)
	if batch.Ops == nil {
		batch.Ops = []protocol.BatchOp{} // nil would be null, which is not an array
	}
	r.json(batch)
	result, err := call[protocol.BatchResult](ctx, b.c, r)
	return result.Committed, err
}

func batchViolations(batch protocol.Batch) []violation {
	var all []violation
	for _, text := range []struct{ name, value string }{
		{"reason", batch.Reason}, {"message", batch.Message},
		{"author", batch.Author}, {"email", batch.Email},
	} {
		n := len(text.value)
		all = append(all,
			limitBytes(text.name, n, protocol.MaxBatchText), limitChars(text.name, text.value, n))
	}
	if n := len(batch.Ops); n > protocol.MaxBatchOps {
		all = append(all,
			tooLarge("the batch has %d operations, the limit is %d", n, protocol.MaxBatchOps))
	}
	total := 0
	for i, op := range batch.Ops {
		total += len(op.Content)
		all = append(all,
			limitPath(fmt.Sprintf("path of op %d", i), op.Path),
			limitPath(fmt.Sprintf("destination of op %d", i), op.To))
		writes := op.Type == protocol.OpWrite || op.Type == protocol.OpAppend
		if writes && op.Content == nil {
			all = append(all, invalid("op %d has no content", i))
		}
	}
	return append(all, limitBytes("the content of the batch", total, protocol.MaxBatchBytes))
}
