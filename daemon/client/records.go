package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// CreateDocument makes a new document and returns its record. Without a path,
// the daemon chooses one; a path that is taken is CodeConflict. Above the
// limits of spec 4.1 nothing is sent. Repeating it without a path makes another
// document.
func (b *Brain) CreateDocument(ctx context.Context, d protocol.CreateDocument) (protocol.DocumentRecord, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents"}
	if err := r.check(documentRefusals(d)...); err != nil {
		return protocol.DocumentRecord{}, err
	}
	if err := r.json(d); err != nil {
		return protocol.DocumentRecord{}, err
	}
	return call[protocol.DocumentRecord](ctx, b.c, r)
}

func documentRefusals(d protocol.CreateDocument) []refusal {
	no := []refusal{atMost("content", d.Content, len(d.Content)), atMost("title", d.Title, protocol.MaxDocumentTitle), goodPath("path", d.Path)}
	if n := utf8.RuneCountInString(d.Content); n > protocol.MaxDocumentContent {
		no = append(no, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("content has %d characters, the limit is %d", n, protocol.MaxDocumentContent)})
	}
	if n := len(d.Tags); n > protocol.MaxDocumentTags {
		no = append(no, refusal{http.StatusBadRequest, fmt.Sprintf("there are %d tags, the limit is %d", n, protocol.MaxDocumentTags)})
	}
	for i, tag := range d.Tags {
		no = append(no, atMost(fmt.Sprintf("tag %d", i), tag, protocol.MaxDocumentTag))
	}
	for key, value := range d.Metadata {
		no = append(no, atMost("a key of metadata", key, protocol.MaxMetadataKey))
		if text, ok := value.(string); ok {
			no = append(no, atMost("metadata "+strconv.Quote(key), text, len(text)))
		}
	}
	return no
}

// DocumentPage selects records. The zero value selects all.
type DocumentPage struct {
	Cursor string // NextCursor of the page before; empty for the first page
	Limit  int    // 1 to protocol.MaxListItems; 0 takes all
}

// Documents lists the records of the documents, ascending by path, without
// generated files. More than protocol.MaxListItems are refused by the daemon
// unless there is a limit.
func (b *Brain) Documents(ctx context.Context, p DocumentPage) (protocol.DocumentList, error) {
	r := request{method: http.MethodGet, path: b.path + "/documents", query: url.Values{}}
	if err := r.check(within("limit", p.Limit, protocol.MaxListItems)); err != nil {
		return protocol.DocumentList{}, err
	}
	if p.Cursor != "" {
		r.query.Set("cursor", p.Cursor)
	}
	if p.Limit != 0 {
		r.query.Set("limit", strconv.Itoa(p.Limit))
	}
	return call[protocol.DocumentList](ctx, b.c, r)
}

// Document returns the record of a document, by its id. The ids read and stat
// cannot be asked for: their addresses are other endpoints (spec 4.2).
func (b *Brain) Document(ctx context.Context, id string) (protocol.DocumentRecord, error) {
	r, err := b.record(http.MethodGet, id)
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	return call[protocol.DocumentRecord](ctx, b.c, r)
}

// DeleteDocument removes a document, by its id.
func (b *Brain) DeleteDocument(ctx context.Context, id string) error {
	r, err := b.record(http.MethodDelete, id)
	if err != nil {
		return err
	}
	return b.c.send(ctx, r)
}

func (b *Brain) record(method, id string) (request, error) {
	r := request{method: method, path: b.path + "/documents/" + segment(id)}
	if id == "" { // the endpoint is another one
		return r, r.check(refusal{http.StatusBadRequest, "document id is empty"})
	}
	return r, r.check(atMost("document id", id, len(id)))
}
