package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search/document"
	"evalctl/daemon/store"
	"evalctl/internal/printable"
)

// A record is not stored. It is derived from the path, the content and the time of a document, so
// it cannot contradict the document.

// CreateDocument stores a new document (spec 4.1, memory_remember). Without a path, the document
// gets an unused one derived from its title. A path that is taken is store.ErrConflict. The front
// matter of a Markdown document gets the title, tags, metadata, source and time of creation. An
// invalid argument is an *ArgumentError or store.ErrInvalidPath, and content that is too long
// ErrTooLarge.
func (s *Service) CreateDocument(
	ctx context.Context, h brain.Handle, r protocol.CreateDocument,
) (protocol.DocumentRecord, error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	if err := checkDocument(r); err != nil {
		return protocol.DocumentRecord{}, err
	}
	named := r.Path != ""
	if !named {
		var name string
		name, r.Title = nameOf(r)
		r.Path = brain.Slug("note", name) + markdownExt
	}
	if err := store.ValidPath(r.Path); err != nil {
		return protocol.DocumentRecord{}, fmt.Errorf("path %.200q: %w", r.Path, err)
	}
	if err := CheckWritable(r.Path); err != nil {
		return protocol.DocumentRecord{}, err
	}
	text, err := documentText(r, s.cfg.Now())
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	stem := strings.TrimSuffix(r.Path, markdownExt)
	write := func(b *store.Batch) error {
		taken, err := b.Exists(ctx, r.Path)
		for ; taken && !named && err == nil; taken, err = b.Exists(ctx, r.Path) {
			r.Path = stem + "-" + strings.ToLower(rand.Text()[:8]) + markdownExt
		}
		if err != nil {
			return err
		}
		if taken {
			return fmt.Errorf("%w: %s exists: choose another path, or leave it out", store.ErrConflict, r.Path)
		}
		if r.Source == protocol.SourceExtract {
			payload := extractPayload{Path: r.Path}
			if _, err := s.addJob(ctx, b, protocol.JobExtract, payload); err != nil {
				return err
			}
		}
		return b.Write(ctx, r.Path, []byte(text))
	}
	commit := func() error { return s.groups.of(h).commit(ctx, st, "create a document", len(text), write) }
	if r.Source == protocol.SourceExtract {
		err = s.addingJobs(ctx, h, commit)
	} else {
		err = commit()
	}
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	return readRecord(ctx, st, h.Brain().ID, r.Path)
}

// nameOf returns the name from which a document without a path gets one, and the title to write
// into it. The title is empty if the content has one.
func nameOf(r protocol.CreateDocument) (name, title string) {
	if r.Title != "" {
		return r.Title, r.Title
	}
	// With the bare extension as its path, no title can come from the file name.
	if title := document.Title(markdownExt, frontmatter.Parse(r.Content)); title != "" {
		return title, ""
	}
	const most = 80 // code points
	for line := range strings.Lines(frontmatter.Below(r.Content)) {
		if words := strings.Join(strings.Fields(line), " "); strings.ContainsFunc(words, isLetter) {
			words = clip(words, most)
			return words, words
		}
	}
	return "note", ""
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// clip returns the first n code points of s, without white space around them.
func clip(s string, n int) string { return strings.TrimSpace(printable.First(s, n)) }

// Document returns the record of a document, or store.ErrNotFound.
func (*Service) Document(ctx context.Context, h brain.Handle, document string) (protocol.DocumentRecord, error) {
	defer h.Acquire()()
	st, err := byID(ctx, h, document)
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	return readRecord(ctx, st, h.Brain().ID, document)
}

// DeleteDocument is Delete for a document by its id, or fails with store.ErrNotFound.
func (s *Service) DeleteDocument(ctx context.Context, h brain.Handle, document string) error {
	defer h.Acquire()()
	st, err := byID(ctx, h, document)
	if err != nil {
		return err
	}
	return s.deleteDocument(ctx, h, st, document)
}

// byID returns the store of a document. The id of a document is its path, but clients need not
// know: an invalid path is an unknown id, not an invalid argument.
func byID(ctx context.Context, h brain.Handle, document string) (*store.Store, error) {
	st, err := h.Store(ctx)
	if err == nil && store.ValidPath(document) != nil {
		err = fmt.Errorf("%w: no document has this id", store.ErrNotFound)
	}
	return st, err
}

// DocumentPage selects the entries of a listing. The zero value selects all.
type DocumentPage struct {
	Cursor string // NextCursor of the page before
	Limit  int    // 1 to protocol.MaxListItems; 0 selects all, at most that many
}

// Of returns the files of the page, and the cursor of the next page if there is one. files is a
// listing, ascending by path. Without a limit, more than protocol.MaxListItems files are
// ErrTooLarge.
func (p DocumentPage) Of(files []store.FileInfo) (page []store.FileInfo, next string, err error) {
	if p.Limit < 0 || p.Limit > protocol.MaxListItems {
		return nil, "", argumentErrorf("limit", "%d is not between 1 and %d", p.Limit, protocol.MaxListItems)
	}
	from, found := slices.BinarySearchFunc(files, p.Cursor, func(f store.FileInfo, cursor string) int {
		return strings.Compare(f.Path, cursor)
	})
	if found {
		from++
	}
	files = files[from:]
	switch {
	case p.Limit == 0 && len(files) > protocol.MaxListItems:
		return nil, "", fmt.Errorf("%w: there are %d documents, and at most %d in one answer: give a limit",
			ErrTooLarge, len(files), protocol.MaxListItems)
	case p.Limit > 0 && len(files) > p.Limit:
		files = files[:p.Limit]
		next = files[p.Limit-1].Path
	}
	return files, next, nil
}

// Documents lists the records of the brain, ascending by path, without generated files.
// It reads every document of the page.
func (*Service) Documents(ctx context.Context, h brain.Handle, p DocumentPage) (protocol.DocumentList, error) {
	list := protocol.DocumentList{Items: []protocol.DocumentRecord{}}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return list, err
	}
	files, err := st.List(ctx, "", store.ListOptions{Recursive: true})
	if err != nil {
		return list, err
	}
	if files, list.NextCursor, err = p.Of(files); err != nil {
		return list, err
	}
	err = readEach(ctx, st, files, func(d store.Document) error {
		if d.Exists && d.Err == nil { // not deleted in the meantime, and readable
			list.Items = append(list.Items, storedRecord(h.Brain().ID, d))
		}
		return nil
	})
	return list, err
}

func readRecord(ctx context.Context, st *store.Store, id, path string) (protocol.DocumentRecord, error) {
	docs, err := st.ReadMany(ctx, filesAt(path))
	if err != nil {
		return protocol.DocumentRecord{}, err
	}
	if !docs[0].Exists {
		return protocol.DocumentRecord{}, fmt.Errorf("read %s: %w", path, store.ErrNotFound)
	}
	if docs[0].Err != nil {
		return protocol.DocumentRecord{}, docs[0].Err
	}
	return storedRecord(id, docs[0]), nil
}

// storedRecord returns the record of a document that exists. If it was written while it was read,
// it may have new content with an old time, and a client that compares times reads it again. The
// reverse would leave the client with old content and a new time.
func storedRecord(id string, d store.Document) protocol.DocumentRecord {
	return recordOf(id, d.Path, []byte(d.Content), d.ModTime.Truncate(time.Millisecond))
}
