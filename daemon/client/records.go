package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
)

// CreateDocument creates a document and returns its record. Without a path, the daemon chooses one,
// and repeating the request creates another document. Code of the error is protocol.CodeConflict if
// the path is taken. Requests above the limits of spec 4.1 are not sent.
func (b *Brain) CreateDocument(
	ctx context.Context, d protocol.CreateDocument,
) (protocol.DocumentRecord, error) {
	r := request{method: http.MethodPost, path: b.path + "/documents"}
	r.check(documentViolations(d)...)
	r.json(d)
	return call[protocol.DocumentRecord](ctx, b.c, r)
}

func documentViolations(d protocol.CreateDocument) []violation {
	all := []violation{
		limitChars("content", d.Content, len(d.Content)),
		limitChars("title", d.Title, protocol.MaxDocumentTitle),
		limitPath("path", d.Path),
	}
	if n := utf8.RuneCountInString(d.Content); n > protocol.MaxDocumentContent {
		all = append(all, tooLarge("content has %d characters, the limit is %d",
			n, protocol.MaxDocumentContent))
	}
	if n := len(d.Tags); n > protocol.MaxDocumentTags {
		all = append(all, invalid("there are %d tags, the limit is %d", n, protocol.MaxDocumentTags))
	}
	for i, tag := range d.Tags {
		all = append(all, limitChars(fmt.Sprintf("tag %d", i), tag, protocol.MaxDocumentTag))
	}
	for key, value := range d.Metadata {
		all = append(all, limitChars("a key of metadata", key, protocol.MaxMetadataKey))
		if text, ok := value.(string); ok {
			all = append(all, limitChars("metadata "+strconv.Quote(key), text, len(text)))
		}
	}
	return all
}

// DocumentPage selects records. The zero value selects all.
type DocumentPage struct {
	Cursor string // NextCursor of the previous page; empty for the first page
	Limit  int    // 1 to protocol.MaxListItems; 0 means all
}

// Documents lists the records of the documents, ascending by path, without generated files. The
// daemon rejects listings of more than protocol.MaxListItems without a limit.
func (b *Brain) Documents(
	ctx context.Context, p DocumentPage,
) (protocol.DocumentList, error) {
	r := request{method: http.MethodGet, path: b.path + "/documents", query: url.Values{}}
	r.check(limitNumber("limit", p.Limit, protocol.MaxListItems))
	if p.Cursor != "" {
		r.query.Set("cursor", p.Cursor)
	}
	if p.Limit != 0 {
		r.query.Set("limit", strconv.Itoa(p.Limit))
	}
	return call[protocol.DocumentList](ctx, b.c, r)
}

// Document returns the record of a document, by its id. It cannot return the documents whose ids
// are read and stat, because their URLs are other endpoints (spec 4.2).
func (b *Brain) Document(ctx context.Context, id string) (protocol.DocumentRecord, error) {
	return call[protocol.DocumentRecord](ctx, b.c, b.record(http.MethodGet, id))
}

// DeleteDocument removes a document, by its id.
func (b *Brain) DeleteDocument(ctx context.Context, id string) error {
	return b.c.send(ctx, b.record(http.MethodDelete, id))
}

// record is a request of a document by its id.
func (b *Brain) record(method, id string) request {
	r := request{method: method, path: b.path + "/documents/" + httpclient.Segment(id)}
	if id == "" { // the URL would be another endpoint
		r.check(invalid("document id is empty"))
	}
	r.check(limitChars("document id", id, len(id)))
	return r
}
