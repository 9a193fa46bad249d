package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"evalctl/daemon/client"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
)

// fallback is the replacement for a request for which the daemon has no endpoint.
type fallback struct {
	Request   string `json:"request"`    // method and path
	InsteadOf string `json:"instead_of"` // method and path
	Status    int    `json:"status"`     // of the response to InsteadOf
}

// insteadOf returns the fallback from a request that has failed with err.
func insteadOf(err error, request string) *fallback {
	e, _ := errors.AsType[*client.Error](err) // lacksRoute holds for no other error
	return &fallback{Request: request, InsteadOf: e.Method + " " + e.Path, Status: e.Status}
}

// storedDocument is a document that a tool has stored. The record is a protocol.DocumentRecord or,
// if the document was written to a path, a writtenDocument.
type storedDocument struct {
	record  any
	request string // method and path of the request that has stored it
	text    string // summary
}

// writtenDocument describes a document that was written to a path. It has no id, because the daemon
// gave none.
type writtenDocument struct {
	BrainID        string    `json:"brain_id"`
	Title          string    `json:"title"`
	Path           string    `json:"path"`
	ByteSize       int       `json:"byte_size"`
	ChecksumSHA256 string    `json:"checksum_sha256"`
	Fallback       *fallback `json:"fallback"`
}

// store creates a document. If the daemon has no endpoint for that, store writes the document to
// its path, or to one that is made from the title.
func (c call) store(ctx context.Context, id string, b *client.Brain, d protocol.CreateDocument) (storedDocument, error) {
	r, err := b.CreateDocument(ctx, d)
	if err == nil {
		return storedDocument{r, http.MethodPost + " " + b.Path() + "/documents", "Stored " + recordLine(r)}, nil
	}
	if !c.lacksRoute(ctx, id, err) {
		return storedDocument{}, err
	}
	w, text, err2 := writable(d)
	if err2 != nil {
		return storedDocument{}, err2
	}
	if d.Path != "" { // a path that is made here names its own content
		switch exists, err := b.Exists(ctx, d.Path); {
		case exists:
			return storedDocument{}, &toolError{Code: protocol.CodeConflict, Message: fmt.Sprintf(
				"there is a document at %.200q: use another path", d.Path)}
		case err != nil && !mayLackRoute(err):
			return storedDocument{}, err
		}
	}
	request := http.MethodPut + " " + b.Path() + "/documents"
	switch err := b.Write(ctx, w.Path, []byte(text)); {
	case mayLackRoute(err):
		return storedDocument{}, &toolError{Code: protocol.CodeNotImplemented,
			Message: "the daemon can neither create documents nor write them to paths"}
	case err != nil:
		return storedDocument{}, err
	}
	w.BrainID, w.Fallback = id, insteadOf(err, request)
	return storedDocument{w, request, fmt.Sprintf(
		"Stored %s (%q, %d bytes) with PUT, because the daemon cannot create documents", w.Path, w.Title, w.ByteSize)}, nil
}

// writtenFolder is where documents without a path are written. Daemons that search only some
// folders search this one.
const writtenFolder = "raw/documents/"

// writable returns a document as it is written to a path, and its text. The text has the same front
// matter as on the reference daemon.
func writable(d protocol.CreateDocument) (writtenDocument, string, error) {
	for _, tag := range d.Tags {
		if strings.Contains(tag, ",") || strings.TrimSpace(tag) == "" {
			return writtenDocument{}, "", argumentErrorf("tags: %.64q is blank or contains a comma", tag)
		}
	}
	fields := frontmatter.Fields{Title: d.Title, Tags: frontmatter.Parse(d.Content).WithTags(d.Tags), Metadata: d.Metadata}
	if d.Source != protocol.SourceIngest {
		fields.Source = d.Source
	}
	text, given := d.Content, fields.Title != "" || fields.Source != "" || len(fields.Tags)+len(fields.Metadata) > 0
	if given && !frontmatter.IsMarkdown(d.Path) {
		return writtenDocument{}, "", argumentErrorf("path: only a path that ends in .md or has no extension can " +
			"have a title or tags: Markdown keeps them in its front matter")
	}
	if given {
		var err error
		if text, err = frontmatter.Set(text, fields); err != nil {
			return writtenDocument{}, "", argumentErrorf("metadata: %v", err)
		}
	}
	sum := sha256.Sum256([]byte(text))
	w := writtenDocument{
		Title: cmp.Or(d.Title, titleOf(d.Content)), Path: d.Path,
		ByteSize: len(text), ChecksumSHA256: hex.EncodeToString(sum[:]),
	}
	if w.Path == "" {
		w.Path = writtenFolder + cmp.Or(slugOf(w.Title), "note") + "-" + w.ChecksumSHA256[:16] + ".md"
	}
	w.Title = cmp.Or(w.Title, path.Base(w.Path))
	return w, text, nil
}

// titleOf returns the title in the front matter of a document, else its first heading.
func titleOf(content string) string {
	doc := frontmatter.Parse(content)
	if doc.Title != "" {
		return doc.Title
	}
	for line := range strings.Lines(doc.Body) {
		heading := strings.TrimLeft(line, "#")
		if level := len(line) - len(heading); level >= 1 && level <= 6 && strings.HasPrefix(heading, " ") {
			return printable.First(strings.TrimSpace(heading), protocol.MaxDocumentTitle)
		}
	}
	return ""
}

func recordLine(r protocol.DocumentRecord) string {
	return fmt.Sprintf("%s (%q, %d bytes, id %s)", r.Path, r.Title, r.ByteSize, r.ID)
}
