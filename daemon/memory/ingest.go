package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/brain"
	"evalctl/daemon/convert"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// maxDirectIngest is the largest file in bytes that is converted while its client waits. A job
// converts larger ones.
const maxDirectIngest = 2 << 20

// source is a file to ingest, with the fields to record about it. It is also the payload of a job,
// which keeps the data in a separate file.
type source struct {
	Kind        convert.Kind `json:"kind"`
	Name        string       `json:"name"` // as given, for the front matter
	Path        string       `json:"path"` // of the document, unless that is taken
	ContentType string       `json:"content_type,omitempty"`
	Title       string       `json:"title,omitempty"`
	Tags        []string     `json:"tags,omitempty"`
	SHA256      string       `json:"sha256"`

	data     []byte
	page     *url.URL       // not nil: only the main text of the page is converted
	metadata map[string]any // further keys of the front matter
	keep     bool           // data is kept as the original, because the document does not repeat it
}

// IngestFile stores a file as a Markdown document (spec 4.1, memory_ingest_file). It converts other
// formats to Markdown, and also keeps the original. Path decides the folder and the name of the
// document; nothing is overwritten. The same bytes of the same kind are stored once: the response
// to a second file names the document of the first, with Reused set.
//
// For a file of more than 2 MiB, a job creates the document later, also after a restart. The
// response has the status queued. The job has the kind ingest and an IngestResponse as its result.
//
// An invalid argument, or a file whose content does not match its kind, is an *ArgumentError or
// store.ErrInvalidPath. A kind that cannot be converted is convert.ErrKind. More than
// protocol.MaxIngestBytes is ErrFileTooLarge.
func (s *Service) IngestFile(
	ctx context.Context, h brain.Handle, r protocol.IngestFile,
) (protocol.IngestResponse, error) {
	src, err := newSource(r)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	s.Resume(h)
	if len(src.data) > maxDirectIngest {
		return s.queueIngest(ctx, h, st, src)
	}
	return s.ingest(ctx, h, st, src, nil)
}

// newSource checks the arguments of IngestFile.
func newSource(r protocol.IngestFile) (source, error) {
	switch n := len(r.Content); {
	case r.Path == "":
		return source{}, argumentErrorf("path", "is missing: the name of the file decides the path of the document")
	case n == 0:
		return source{}, argumentErrorf("file", "is empty")
	case n > protocol.MaxIngestBytes:
		return source{}, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrFileTooLarge, n, protocol.MaxIngestBytes)
	}
	switch r.As {
	case "", protocol.AsMarkdown, protocol.AsText, protocol.AsJSON, protocol.AsHTML, protocol.AsPDF:
	default:
		return source{}, argumentErrorf("as", "%.40q is not one of markdown, text, json, html, pdf", r.As)
	}
	if err := checkTitle(r.Title); err != nil {
		return source{}, err
	}
	if err := checkTags(r.Tags); err != nil {
		return source{}, err
	}
	if err := checkContentType(r.ContentType); err != nil {
		return source{}, err
	}
	kind, err := convert.KindOfFile(r.As, r.ContentType, r.Path, r.Content)
	if err != nil {
		return source{}, err
	}
	target, err := ingestPath(r.Path, kind)
	if err != nil {
		return source{}, err
	}
	return newSourceOf(kind, r, target), nil
}

func newSourceOf(kind convert.Kind, r protocol.IngestFile, target string) source {
	sum := sha256.Sum256(r.Content)
	return source{
		Kind: kind, Name: path.Base(r.Path), Path: target, ContentType: r.ContentType,
		Title: r.Title, Tags: r.Tags, SHA256: hex.EncodeToString(sum[:]), data: r.Content,
	}
}

// maxContentType bounds a content type, in bytes.
const maxContentType = 255

func checkContentType(text string) error {
	switch {
	case len(text) > maxContentType:
		return argumentErrorf("content_type", "has %d bytes, the limit is %d", len(text), maxContentType)
	case !utf8.ValidString(text):
		return argumentErrorf("content_type", "is not valid UTF-8")
	}
	return nil
}

func checkTitle(title string) error {
	if n := utf8.RuneCountInString(title); n > protocol.MaxDocumentTitle {
		return argumentErrorf("title", "has %d characters, the limit is %d", n, protocol.MaxDocumentTitle)
	}
	if title != "" && strings.TrimSpace(title) == "" {
		return argumentErrorf("title", "is blank")
	}
	return nil
}

// ingest converts a file and stores the document. With a job, the same commit finishes the job.
func (s *Service) ingest(
	ctx context.Context, h brain.Handle, st *store.Store, src source, j *job,
) (protocol.IngestResponse, error) {
	start := time.Now()
	found, err := s.findIngested(ctx, h, st, src)
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	var text []byte
	if found == "" { // otherwise it is found again in the batch
		if text, src.keep, err = s.convert(convert.For(ctx, h.Tenant(), j != nil), src); err != nil {
			return protocol.IngestResponse{}, err
		}
	}
	var response protocol.IngestResponse
	chunks, _ := h.Passages(src.Path, text) // not while other requests wait for the commit
	err = s.groups.of(h).commit(ctx, st, "ingest", len(text)+len(src.data), func(b *store.Batch) error {
		in := ingestion{Service: s, brain: h, batch: b, source: src, text: text, chunks: chunks}
		var err error
		if response, err = in.run(ctx); err != nil {
			return err
		}
		response.DurationMS = time.Since(start).Milliseconds()
		if j == nil {
			return nil
		}
		return j.finish(ctx, b, response)
	})
	if errors.Is(err, errNotConverted) {
		return s.ingest(ctx, h, st, src, j) // its document was deleted in between
	}
	return response, err
}

// findIngested returns the path of the document with the same bytes and kind, or "".
func (s *Service) findIngested(
	ctx context.Context, h brain.Handle, st *store.Store, src source,
) (string, error) {
	// Documents that were renamed or deleted a moment ago.
	if err := s.tidyOriginals(ctx, h); err != nil {
		return "", err
	}
	name, _, err := src.existing(ctx, st)
	return name, err
}

// convert makes the text of the document. keep reports whether the original has to be kept as well.
func (s *Service) convert(ctx context.Context, src source) (text []byte, keep bool, err error) {
	data, err := convert.Decode(src.Kind, src.ContentType, src.data)
	var doc convert.Document
	switch {
	case err != nil:
	case src.page != nil && src.Kind == convert.HTML:
		doc, err = convert.Page(ctx, src.page, data)
	default:
		doc, err = convert.Convert(ctx, src.Kind, src.Name, data)
	}
	if errors.Is(err, convert.ErrInvalid) {
		err = argumentErrorf("file", "%v", err)
	}
	if err != nil {
		return nil, false, err
	}
	document, err := src.document(doc, s.cfg.Now())
	keep = src.Kind != convert.Markdown || doc.Markdown != string(src.data)
	return []byte(document), keep, err
}

var errNotConverted = errors.New("the document is gone")

// ingestion is the commit of a file.
type ingestion struct {
	*Service
	brain  brain.Handle
	batch  *store.Batch
	source source
	text   []byte // nil if there was a document
	chunks int    // of text
}

// run writes the document, unless there is one of the same file.
func (in ingestion) run(ctx context.Context) (protocol.IngestResponse, error) {
	name, data, err := in.source.existing(ctx, in.batch)
	switch {
	case err != nil:
		return protocol.IngestResponse{}, err
	case name != "":
		return in.reused(name, data), nil
	}
	if in.text == nil {
		return protocol.IngestResponse{}, errNotConverted
	}
	if name, err = in.freePath(ctx); err != nil {
		return protocol.IngestResponse{}, err
	}
	response := protocol.IngestResponse{DocumentID: name, Path: name, Hash: in.source.SHA256, ChunkCount: in.chunks}
	data, err = in.batch.Read(ctx, name)
	switch {
	case err == nil: // its record is lost
		response = in.reused(name, data)
	case store.IsNotFound(err):
		err = in.batch.Write(ctx, name, in.text)
	}
	if err != nil {
		return protocol.IngestResponse{}, err
	}
	if in.source.keep {
		if err := in.batch.Write(ctx, in.source.originalPath(), in.source.data); err != nil {
			return protocol.IngestResponse{}, err
		}
	}
	return response, in.record(ctx, name)
}

// freePath returns the path of the document: the one that follows from the request, or one with a
// suffix from the hash. A path with a document of the same file counts as free.
func (in ingestion) freePath(ctx context.Context) (string, error) {
	for _, digits := range []int{0, 8, len(in.source.SHA256)} {
		name := withSuffix(in.source.Path, in.source.SHA256[:digits])
		exists, err := in.batch.Exists(ctx, name)
		if err != nil || !exists {
			return name, err
		}
		_, same, err := isIngested(ctx, in.batch, name, in.source.SHA256, in.source.Kind)
		if err != nil || same {
			return name, err
		}
	}
	return "", fmt.Errorf("%w: %s exists, also with the hash of the file as its suffix: choose another path",
		store.ErrConflict, in.source.Path)
}

// reused describes a document that exists.
func (in ingestion) reused(name string, data []byte) protocol.IngestResponse {
	r := protocol.IngestResponse{DocumentID: name, Path: name, Hash: in.source.SHA256, Reused: true}
	r.ChunkCount, r.EmbeddedCount = in.brain.Passages(name, data)
	return r
}
