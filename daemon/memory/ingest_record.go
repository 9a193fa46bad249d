package memory

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"evalctl/daemon/convert"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// originalsDir has a record of every ingested file, and the file itself unless it is Markdown that
// its document repeats. Both are named by the hash, and written in the batch of the document:
//
//	originals/a/_ab...-pdf.json  the record
//	originals/a/_ab....pdf       the file
const originalsDir = "originals"

// ingestRecord finds the document of a file by the hash and the kind of the file.
type ingestRecord struct {
	Document    string       `json:"document"` // path
	Kind        convert.Kind `json:"kind"`
	SHA256      string       `json:"sha256"`
	Size        int          `json:"size"`
	Name        string       `json:"name"`
	ContentType string       `json:"content_type,omitempty"`
	CreatedAt   string       `json:"created_at"`
}

var originalExtensions = map[convert.Kind]string{
	convert.Markdown: ".markdown", convert.Text: ".txt", convert.JSON: ".json", convert.HTML: ".html",
	convert.PDF: ".pdf",
}

// originalStem spreads the files over 16 folders. With one folder, each commit of git would write
// its whole listing again. More folders take longer to create than the files of a small brain.
func originalStem(sha256 string) string {
	return originalsDir + "/" + sha256[:1] + "/_" + sha256
}

func (src source) recordPath() string { return recordPath(src.SHA256, src.Kind) }

func (src source) originalPath() string { return originalPath(src.SHA256, src.Kind) }

func recordPath(sha256 string, kind convert.Kind) string {
	return originalStem(sha256) + "-" + string(kind) + ".json"
}

func originalPath(sha256 string, kind convert.Kind) string {
	return originalStem(sha256) + originalExtensions[kind]
}

// parseRecordPath is the inverse of recordPath.
func parseRecordPath(name string) (sha256 string, kind convert.Kind, ok bool) {
	base := strings.TrimSuffix(path.Base(name), ".json")
	sha256, given, _ := strings.Cut(strings.TrimPrefix(base, "_"), "-")
	kind = convert.Kind(given)
	if len(sha256) != 64 || originalExtensions[kind] == "" || recordPath(sha256, kind) != name {
		return "", "", false
	}
	return sha256, kind, true
}

// readIngestRecord reads a record. A missing record, or one that a client has damaged, is zero.
func readIngestRecord(ctx context.Context, r documentReader, name string) (ingestRecord, error) {
	data, err := r.Read(ctx, name)
	if store.IsNotFound(err) {
		return ingestRecord{}, nil
	}
	if err != nil {
		return ingestRecord{}, err
	}
	return parseIngestRecord(name, data), nil
}

// parseIngestRecord returns the record at a path, which is zero if a client has damaged it.
func parseIngestRecord(name string, data []byte) (record ingestRecord) {
	sha256, kind, ok := parseRecordPath(name)
	if json.Unmarshal(data, &record) != nil || store.ValidPath(record.Document) != nil ||
		!ok || record.SHA256 != sha256 || record.Kind != kind {
		return ingestRecord{}
	}
	return record
}

// existing returns the document with the same bytes and kind, if there is one.
func (src source) existing(ctx context.Context, r documentReader) (name string, data []byte, err error) {
	record, err := readIngestRecord(ctx, r, src.recordPath())
	if err != nil || record.Document == "" {
		return "", nil, err
	}
	data, ok, err := isIngested(ctx, r, record.Document, src.SHA256, src.Kind)
	if err != nil || !ok {
		return "", nil, err
	}
	return record.Document, data, nil
}

// isIngested reports whether the front matter of the document at a path names this file as its
// source.
func isIngested(
	ctx context.Context, r documentReader, name, sha256 string, kind convert.Kind,
) (data []byte, ok bool, err error) {
	data, err = r.Read(ctx, name)
	if store.IsNotFound(err) || store.IsInvalidPath(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	got, gotKind := ingestedFrom(string(data))
	return data, got == sha256 && gotKind == kind, nil
}

// ingestedFrom returns the hash and the kind of a document's source file.
func ingestedFrom(text string) (sha256 string, kind convert.Kind) {
	metadata := frontmatter.Parse(text).Metadata
	sha256, _ = metadata[keySourceSHA256].(string)
	media, _ := metadata[keySourceType].(string)
	kind, err := convert.KindOf("", media, "")
	if err != nil || sha256 == "" {
		return "", ""
	}
	return sha256, kind
}

// record writes the record of the document.
func (in ingestion) record(ctx context.Context, document string) error {
	src := in.source
	r := ingestRecord{
		Document: document, Kind: src.Kind, SHA256: src.SHA256, Size: len(src.data),
		Name: src.Name, ContentType: src.ContentType, CreatedAt: protocol.FormatTime(in.cfg.Now()),
	}
	in.originals.of(in.brain).addOwn(document, src.recordPath())
	return r.write(ctx, in.batch)
}

func (r ingestRecord) write(ctx context.Context, b *store.Batch) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.Write(ctx, recordPath(r.SHA256, r.Kind), text)
}
