package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Deleting a session or a transcript also deletes everything made from it: facts, episodes, and the
// notes, summaries and records of consolidations. Derived documents are deleted before their
// sources, so that a failed request can be repeated.

// DeleteSession deletes a session with its messages and all documents made from them, or fails with
// store.ErrNotFound. It keeps a note that another session also states. It keeps documents that
// users have changed, except the facts and episodes of the session.
func (s *Service) DeleteSession(ctx context.Context, h brain.Handle, session string) error {
	if err := checkSessionID(session); err != nil {
		return err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return err
	}
	return st.Batch(ctx, store.BatchOptions{Reason: "delete a session"}, func(b *store.Batch) error {
		state, err := readSession(ctx, b, session)
		if err != nil {
			return err
		}
		key := sessionKey(session)
		files, err := b.List(ctx, path.Join(sessionsDir, key), store.ListOptions{Recursive: true, IncludeGenerated: true})
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.IsDir {
				continue
			}
			if err := deleteAll(ctx, b, f.Path); err != nil {
				return err
			}
		}
		return forgetMade(ctx, b, madeFromSession(key), state.CreatedAt)
	})
}

// Delete deletes the document at a path. If the document is a transcript, all documents made from
// it are deleted too.
func (s *Service) Delete(ctx context.Context, h brain.Handle, name string) error {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return err
	}
	return s.deleteDocument(ctx, h, st, name)
}

func (s *Service) deleteDocument(ctx context.Context, h brain.Handle, st *store.Store, name string) error {
	facts := documentFactsPath(name)
	isFacts := func(p string) bool { return p == facts }
	made, err := s.hasMade(ctx, h, st, facts)
	if err != nil {
		return err
	}
	if made {
		ctx = context.WithoutCancel(ctx) // half a deletion helps nobody, even if the client has gone
		err := st.Batch(ctx, forgetOptions, func(b *store.Batch) error { return forgetMade(ctx, b, isFacts, time.Time{}) })
		if err != nil {
			return err
		}
	}
	if err := st.Delete(ctx, name); err != nil {
		return err
	}
	// A job may have written facts meanwhile. From now on none does.
	s.afterCommit(context.WithoutCancel(ctx), h, func(ctx context.Context, st *store.Store) error {
		again, err := s.hasMade(ctx, h, st, facts)
		if err != nil || !again && !made {
			return err
		}
		return st.Batch(ctx, forgetOptions, func(b *store.Batch) error {
			if there, err := b.Exists(ctx, name); there || err != nil {
				return err // it was written again, and these facts may be its own
			}
			return forgetMade(ctx, b, isFacts, time.Time{})
		})
	})
	return nil
}

var forgetOptions = store.BatchOptions{Reason: "delete what was made from a document"}

// hasMade reports whether a document of facts exists, or a consolidation may have made something
// from it.
func (s *Service) hasMade(ctx context.Context, h brain.Handle, st *store.Store, facts string) (bool, error) {
	made, err := st.Exists(ctx, facts)
	if err != nil || made {
		return made, err
	}
	used, _, err := s.consolidated(ctx, h, st, facts)
	return used[facts], err
}

// numberedName matches the rest of a document's name after a key: nothing, or a number.
var numberedName = regexp.MustCompile(`^(?:=\d+)?\.md$`)

// madeFromSession returns a function that reports whether a path is a fact or episode document of
// the session with a key.
func madeFromSession(key string) func(string) bool {
	return func(p string) bool {
		rest, ok := strings.CutPrefix(p, factsFolder)
		if episode, is := strings.CutPrefix(p, episodesFolder); is {
			const day = len("2006-01-02-")
			rest, ok = episode[min(day, len(episode)):], true
		}
		rest, isOf := strings.CutPrefix(rest, key)
		return ok && isOf && numberedName.MatchString(rest)
	}
}

// forgetMade deletes the documents below memory for which made returns true, and all documents made
// from them. None of these was made before since, the zero time if that is not known.
func forgetMade(ctx context.Context, b *store.Batch, made func(path string) bool, since time.Time) error {
	var gone []string
	for _, folder := range []string{factsFolder, episodesFolder} {
		files, err := b.List(ctx, strings.TrimSuffix(folder, "/"), store.ListOptions{Recursive: true})
		if err != nil && !store.IsNotFound(err) {
			return err
		}
		for _, f := range files {
			if !f.IsDir && made(f.Path) {
				gone = append(gone, f.Path)
			}
		}
	}
	notes, err := forgetNotes(ctx, b, made)
	if err != nil {
		return err
	}
	gone = append(gone, notes...)
	summaries, err := forgetSummaries(ctx, b, func(p string) bool { return made(p) || slices.Contains(notes, p) }, since)
	if err != nil {
		return err
	}
	gone = append(gone, summaries...)
	if err := deleteAll(ctx, b, gone...); err != nil {
		return err
	}
	return forgetRecords(ctx, b, func(p string) bool { return made(p) || slices.Contains(gone, p) })
}

// forgetNotes returns the notes whose sources are all made. It removes made sources from the
// others. A note that does not name all its sources is kept: one of those that it leaves out may
// still state it.
func forgetNotes(ctx context.Context, b *store.Batch, made func(string) bool) (gone []string, err error) {
	var h holdings
	h.taken = map[string]bool{}
	notes, err := h.readFolder(ctx, b, notesFolder)
	if err != nil && !store.IsNotFound(err) {
		return nil, err
	}
	for _, d := range notes {
		sources := parseSources(d.doc)
		left := slices.DeleteFunc(slices.Clone(sources), made)
		switch {
		case !d.isNote() || len(left) == len(sources):
		case len(left) == 0:
			gone = append(gone, d.path)
		default:
			text, err := noteDocument(d.facts, d.doc.Date, left)
			if err == nil {
				err = b.Write(ctx, d.path, []byte(text))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.path, err)
			}
		}
	}
	return gone, nil
}

// forgetSummaries returns the summaries with text of made documents, and those that may have some
// because they do not name all their sources and were written after since.
func forgetSummaries(ctx context.Context, b *store.Batch, made func(string) bool, since time.Time) (gone []string, err error) {
	var h holdings
	h.taken = map[string]bool{}
	summaries, err := h.readFolder(ctx, b, summariesFolder)
	if err != nil && !store.IsNotFound(err) {
		return nil, err
	}
	for _, d := range summaries {
		from := parseSources(d.doc)
		unnamed := slices.Contains(from, cutSources) && (d.written.IsZero() || !d.written.Before(since))
		if !edited(d) && (unnamed || slices.ContainsFunc(from, made)) {
			gone = append(gone, d.path)
		}
	}
	return gone, nil
}

// forgetRecords deletes the records of consolidations that quote made documents.
func forgetRecords(ctx context.Context, b *store.Batch, made func(string) bool) error {
	files, err := b.List(ctx, strings.TrimSuffix(consolidationsFolder, "/"), store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		if store.IsNotFound(err) {
			return nil
		}
		return err
	}
	files = slices.DeleteFunc(files, func(f store.FileInfo) bool { return f.IsDir || f.Path == consolidationState })
	var gone []string
	err = readEach(ctx, b, files, func(d store.Document) error {
		if d.Exists && slices.ContainsFunc(namedPaths(d.Content), made) {
			gone = append(gone, d.Path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return deleteAll(ctx, b, gone...)
}

// memoryPath matches the path of a document of the daemon's own in a text.
var memoryPath = regexp.MustCompile(`memory/[^\s"'` + "`" + `<>|\\\])]+\.md`)

// namedPaths returns the paths that a record of a consolidation names.
func namedPaths(text string) []string { return memoryPath.FindAllString(text, -1) }

// transcripts knows whether a brain has, or had, facts of transcripts that are documents. Most
// brains have none, so their writes need not look for them.
type transcripts struct {
	mu      sync.Mutex
	watched bool
	store   *store.Store // in which the folders were looked for
	any     atomic.Bool
	// named are the paths of facts that notes, summaries and records have named. It may have more of
	// them than are named now.
	named map[string]bool
	// unread are the paths of such documents to read before named is used.
	unreadMu sync.Mutex
	unread   map[string]bool
}

// transcriptFacts contains the facts of documents.
const transcriptFacts = factsFolder + "documents/"

// derivedFolders contain what a consolidation makes.
var derivedFolders = []string{notesFolder, summariesFolder, consolidationsFolder}

// changed is called with each change of the brain.
func (t *transcripts) changed(e store.ChangeEvent) {
	if strings.HasPrefix(e.Path, transcriptFacts) {
		t.any.Store(true)
	}
	if slices.ContainsFunc(derivedFolders, func(f string) bool { return strings.HasPrefix(e.Path, f) }) {
		t.later(e.Path)
	}
}

// later has documents read by the next call of read.
func (t *transcripts) later(paths ...string) {
	t.unreadMu.Lock()
	defer t.unreadMu.Unlock()
	if t.unread == nil {
		t.unread = map[string]bool{}
	}
	for _, p := range paths {
		t.unread[p] = true
	}
}

// open looks for facts of documents and for what was made from them. mu must be held.
func (t *transcripts) open(ctx context.Context, st *store.Store) error {
	for _, folder := range append([]string{transcriptFacts}, derivedFolders...) {
		files, err := st.List(ctx, strings.TrimSuffix(folder, "/"), store.ListOptions{Recursive: true, IncludeGenerated: true})
		if err != nil && !store.IsNotFound(err) {
			return err
		}
		for _, f := range files {
			switch {
			case f.IsDir || !frontmatter.IsMarkdown(f.Path):
			case folder == transcriptFacts:
				t.any.Store(true)
			default:
				t.later(f.Path)
			}
		}
	}
	t.named, t.store = map[string]bool{}, st
	return nil
}

// read adds to named what documents name that were made or changed since the last call. mu must be
// held. One that cannot be read is tried again by the next call.
func (t *transcripts) read(ctx context.Context, st *store.Store) error {
	t.unreadMu.Lock()
	paths := sortedPaths(t.unread)
	t.unread = nil
	t.unreadMu.Unlock()
	err := readEach(ctx, st, filesAt(paths...), func(d store.Document) error {
		if d.Err != nil {
			t.later(d.Path)
		}
		for _, path := range namedPaths(d.Content) {
			if strings.HasPrefix(path, transcriptFacts) {
				t.named[path] = true
			}
		}
		return nil
	})
	if err != nil {
		t.later(paths...)
	}
	return err
}

// consolidated returns those of some documents of facts from which a consolidation may have made
// something. These documents need not exist any more: a consolidation deletes one when it has moved
// its last fact to a note. have is false if the brain has nothing of any transcript.
func (s *Service) consolidated(
	ctx context.Context, h brain.Handle, st *store.Store, facts ...string,
) (found map[string]bool, have bool, err error) {
	t := s.transcripts.of(h)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.watched {
		t.watched = true
		h.Subscribe(t.changed)
	}
	if t.store != st { // other processes may have written while no store was open here
		if err := t.open(ctx, st); err != nil {
			return nil, false, err
		}
		err = t.read(ctx, st)
	} else if t.any.Load() || len(t.named) > 0 {
		err = t.read(ctx, st)
	}
	if err != nil {
		return nil, false, err
	}
	found = map[string]bool{}
	for _, path := range facts {
		if t.named[path] {
			found[path] = true
		}
	}
	return found, t.any.Load() || len(t.named) > 0, nil
}

// MayBeTranscript reports whether facts may have to be extracted from a document with this content.
// It only looks for the word, and so takes less time than to read the document again.
func MayBeTranscript(data []byte) bool { return bytes.Contains(data, []byte(protocol.SourceExtract)) }

// Changed is called after documents at some paths were replaced, renamed or deleted. It deletes
// everything made from earlier transcripts at these paths, and has facts extracted from the present
// ones, now or later: see afterCommit. transcripts are the paths that may have one now.
func (s *Service) Changed(ctx context.Context, h brain.Handle, paths, transcripts []string) {
	s.afterCommit(ctx, h, func(ctx context.Context, st *store.Store) error {
		return s.changed(ctx, h, st, paths, transcripts)
	})
}

func (s *Service) changed(ctx context.Context, h brain.Handle, st *store.Store, paths, transcripts []string) error {
	stale, err := s.stale(ctx, h, st, paths)
	if err != nil {
		return err
	}
	// The job of an earlier text may not have written facts yet, so this does not depend on stale.
	extract := false
	err = readEach(ctx, st, filesAt(transcripts...), func(d store.Document) error {
		extract = extract || isTranscript(d)
		return nil
	})
	if err != nil || len(stale) == 0 && !extract {
		return err
	}
	return s.addingJobs(ctx, h, func() error {
		return st.Batch(ctx, forgetOptions, func(b *store.Batch) error {
			if len(stale) > 0 {
				if err := forgetMade(ctx, b, func(p string) bool { return stale[p] }, time.Time{}); err != nil {
					return err
				}
			}
			// Another change may have made a transcript of any of them since.
			return readEach(ctx, b, filesAt(paths...), func(d store.Document) error {
				if !isTranscript(d) {
					return nil
				}
				_, err := s.addJob(ctx, b, protocol.JobExtract, extractPayload{Path: d.Path})
				return err
			})
		})
	})
}

// stale returns the documents of facts of the paths that exist or have been consolidated.
func (s *Service) stale(ctx context.Context, h brain.Handle, st *store.Store, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	facts := make([]string, len(paths))
	for i, name := range paths {
		facts[i] = documentFactsPath(name)
	}
	stale, have, err := s.consolidated(ctx, h, st, facts...)
	if err != nil || !have {
		return nil, err
	}
	err = readEach(ctx, st, filesAt(facts...), func(d store.Document) error {
		if d.Exists {
			stale[d.Path] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Asked again, so that a consolidation in between does not hide a document from both.
	used, _, err := s.consolidated(ctx, h, st, facts...)
	maps.Copy(stale, used)
	return stale, err
}

// isTranscript reports whether facts are to be extracted from a document. Documents of facts have
// the source of a transcript too. One that the daemon wrote has a seal, wherever it is now.
func isTranscript(d store.Document) bool {
	if !d.Exists || !frontmatter.IsMarkdown(d.Path) || strings.HasPrefix(d.Path, factsFolder) {
		return false
	}
	doc := frontmatter.Parse(d.Content)
	_, sealed := doc.Metadata[keySeal]
	return doc.Source == protocol.SourceExtract && !sealed
}
