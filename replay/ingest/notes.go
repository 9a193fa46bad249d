package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/internal/inputfile"
)

// NotesBeside returns the folder for Config.Notes that belongs to a record.
func NotesBeside(record string) string {
	return strings.TrimSuffix(record, filepath.Ext(record)) + notesSuffix
}

const notesSuffix = "-notes"

// notes is a folder with a file for each brain of a service or a home. The files of brains that
// are being filled have another extension.
type notes struct {
	dir   string // "" keeps nothing
	owner string // part of the files' names, "" for all replays
}

func (c Config) notes() notes {
	n := notes{dir: c.Notes}
	if c.Daemon.Build == "" && c.Owner != "" {
		n.owner = "." + digest(c.Owner)[:12]
	}
	return n
}

// The extensions of files: of brains that are filled, and of those that are being filled.
const (
	notesExt = ".json"
	begunExt = ".begun"
)

// path returns a file of a brain, whose name has no dot.
func (n notes) path(b brain, ext string) string { return filepath.Join(n.dir, b.name+n.owner+ext) }

// read returns a file, nil if it does not exist.
func (n notes) read(b brain, ext string) ([]byte, error) {
	if n.dir == "" {
		return nil, nil
	}
	data, err := inputfile.Read(n.path(b, ext), inputfile.Large)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, data...), err
}

func (n notes) write(b brain, ext string, data []byte) error {
	if n.dir == "" {
		return nil
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteData(n.path(b, ext), 0o600, data)
}

// remove removes files of a brain.
func (n notes) remove(b brain, exts ...string) error {
	if n.dir == "" {
		return nil
	}
	for _, ext := range exts {
		if err := os.Remove(n.path(b, ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clear removes the notes of all brains.
func (n notes) clear() error {
	if n.dir == "" {
		return nil
	}
	return os.RemoveAll(n.dir)
}

// any returns the name of a brain with notes, "" if there is none.
func (n notes) any() string {
	if n.dir == "" {
		return ""
	}
	files, _ := os.ReadDir(n.dir) // a folder that cannot be read has no notes
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext == notesExt || ext == begunExt {
			name, _, _ := strings.Cut(f.Name(), ".")
			return name
		}
	}
	return ""
}

// claim makes a service ready for the creation of a brain. If it has only one store, the earlier
// brains are gone once this one is created.
func (f *filler) claim(ctx context.Context, remote *seed.Brain, b brain) error {
	if err := f.checkUnused(ctx, remote, b); err != nil {
		return err
	}
	if err := f.removeBegun(ctx, remote, b); err != nil {
		return err
	}
	forget := func() error { return f.record.remove(b) }
	if f.Service.Lacks(target.Brains) != "" {
		forget = func() error { return errors.Join(f.record.clear(), f.notes().clear()) }
	}
	err := forget()
	if err == nil && remote.TakesNotes() {
		err = f.notes().write(b, begunExt, nil)
	}
	if err == nil {
		err = f.notes().remove(b, notesExt)
	}
	return err
}

// noteBegun keeps the service's name of a brain that was created, so that it can be removed if
// this process is killed before the brain is filled.
func (f *filler) noteBegun(remote *seed.Brain, b brain) error {
	data, err := remote.Notes()
	if err == nil && data != nil {
		err = f.notes().write(b, begunExt, data)
	}
	return err
}

// removeBegun removes a brain whose fill was interrupted. If it cannot be removed, it is left:
// texts whose ids only the interrupted process knew stay at a service that cannot empty a brain.
func (f *filler) removeBegun(ctx context.Context, remote *seed.Brain, b brain) error {
	data, err := f.notes().read(b, begunExt)
	if err != nil || len(data) == 0 || remote.Find(ctx) != nil {
		return err
	}
	if err := remote.UseNotes(data); err != nil {
		return fmt.Errorf("notes on brain %q: %s: %w; delete the file", b.name, f.notes().path(b, begunExt), err)
	}
	_ = remote.Remove(ctx)
	return ctx.Err()
}

// checkUnused returns an error if the only store of a service, which cannot be emptied, has or may
// have texts.
func (f *filler) checkUnused(ctx context.Context, remote *seed.Brain, b brain) error {
	why := f.Service.Lacks(target.NewBrains)
	if why == "" {
		return nil
	}
	const advice = "or give the mapping a reset (brains: reset)"
	if brain, files := f.earlier(); brain != "" {
		return fmt.Errorf("the store of %s may have texts of the brain %q of an earlier replay, and %s: empty it and "+
			"delete %s, or choose another --cache-dir if evalctl starts the service, %s",
			f.Service.URL(), brain, why, files, advice)
	}
	if f.NewHome || f.Service.Lacks(target.Search) != "" {
		return nil
	}
	held, err := f.held(ctx, remote, b)
	switch {
	case seed.Refused(err):
		return nil // as a search may if there are no texts
	case err != nil:
		return fmt.Errorf("search the store of %s, which may have texts of others: %w", f.Service.URL(), err)
	case held > 0:
		return fmt.Errorf("the store of %s has at least %s already, and %s: empty it, %s",
			f.Service.URL(), figure.Count(held, "text"), why, advice)
	}
	return nil
}

// earlier returns the name of a brain of the service that is known from an earlier replay, and the
// files that say so. Both are empty if none is known.
func (f *filler) earlier() (brain, files string) {
	var known []string
	if noted := f.notes().any(); noted != "" {
		brain, known = noted, append(known, f.Notes)
	}
	if recorded := f.record.any(); recorded != "" {
		brain, known = recorded, append(known, f.record.path)
	}
	return brain, strings.Join(known, " and ")
}

// held returns the minimum number of texts in a brain of the service.
func (f *filler) held(ctx context.Context, remote *seed.Brain, b brain) (int, error) {
	docs, err := f.documents(b)
	if err == nil {
		err = remote.Find(ctx)
	}
	if err != nil {
		return 0, err
	}
	return remote.Held(ctx, docs)
}

// mostHaystacks limits the haystacks by whose documents a brain is searched.
const mostHaystacks = 3

// documents returns the documents of the brain's first haystacks that have any.
func (f *filler) documents(b brain) (docs []dataset.Doc, err error) {
	n := 0
	for _, id := range b.haystacks {
		h, err := f.bench.Haystack(id)
		if err != nil {
			return nil, err
		}
		own := h.Documents()
		if docs = append(docs, own...); len(own) > 0 {
			n++
		}
		if n == mostHaystacks {
			break
		}
	}
	return docs, nil
}

// lost reports whether the service has lost a filled brain: the brain does not exist, or a
// search finds nothing in it.
func (f *filler) lost(ctx context.Context, remote *seed.Brain, b brain) (bool, error) {
	known := f.record.loss(b)
	neverFound := known.Searched > 0 && known.Missing == known.Searched
	if f.OwnProcesses || neverFound || f.Service.Lacks(target.Search) != "" {
		return false, nil
	}
	docs, err := f.documents(b)
	if err != nil || len(docs) == 0 {
		return false, err
	}
	found, err := remote.FindsAny(ctx, docs)
	if seed.Refused(err) && refusedBrain(err) {
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("search brain %q, which is filled: %w; if the service has lost it, delete %s, and it is filled again",
			b.name, err, f.knownBy(b))
	}
	return !found, err
}

// refusedBrain reports whether a refused search may be due to a brain that does not exist: the
// service's status says that the request is wrong, or it has none, as in MCP.
func refusedBrain(err error) bool {
	f, _ := target.AsFailure(err)
	return f.Status == 0 || f.Status >= 400 && f.Status < 500 && f.Status != http.StatusUnauthorized && f.Status != http.StatusForbidden
}

// knownBy returns the files by which a brain counts as filled.
func (f *filler) knownBy(b brain) string {
	if f.Service.Lacks(target.Brains) != "" && f.record != nil {
		return f.notes().path(b, notesExt) + " and " + f.record.path
	}
	return f.notes().path(b, notesExt)
}

// Leave removes filled brains from the service, even if ctx has ended. It goes on after a
// failure by the rules of seed.RemoveEach. A later replay fills the brains again.
func (f *FilledBrains) Leave(ctx context.Context) error {
	c := f.from
	store := c.Service.Store(c.Dialect)
	names := slices.Compact(slices.Sorted(maps.Values(f.Brains)))
	return seed.RemoveEach(ctx, names, func(ctx context.Context, name string) error {
		err := store.Remove(ctx, name, name)
		if err == nil {
			err = c.notes().remove(brain{name: name}, notesExt, begunExt)
		}
		if err != nil {
			err = fmt.Errorf("brain %q could not be removed from %s: %w", name, c.Service.URL(), err)
		}
		return err
	})
}

// recall makes the notes of the process that filled a brain known to the service. It reports
// false if there are none and the brain is of no use without, or if the brain is lost. A record
// from before there were notes is enough if none are needed.
func (f *filler) recall(ctx context.Context, remote *seed.Brain, b brain) (bool, error) {
	if !remote.TakesNotes() {
		return true, nil
	}
	data, err := f.notes().read(b, notesExt)
	if err == nil && (data != nil && len(data) == 0 || data == nil && !f.recorded(b)) {
		return false, nil
	}
	if err == nil {
		err = remote.UseNotes(data)
	}
	if data == nil && errors.Is(err, target.ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("notes on brain %q: %s: %w; delete the file, and the brain is filled again",
			b.name, f.notes().path(b, notesExt), err)
	}
	lost, err := f.lost(ctx, remote, b)
	return !lost, err
}

// recorded reports whether a record lists a brain that is not being filled.
func (f *filler) recorded(b brain) bool {
	begun, err := f.notes().read(b, begunExt)
	return err == nil && begun == nil && f.record.has(b)
}

// note keeps the notes of a filled brain.
func (f *filler) note(remote *seed.Brain, b brain) error {
	data, err := remote.Notes()
	if err == nil && data != nil {
		err = f.notes().write(b, notesExt, data)
	}
	if err == nil {
		err = f.notes().remove(b, begunExt)
	}
	return err
}

// forget removes the notes of a brain that was removed. Those of a store that cannot be emptied say
// that it may still have texts.
func (f *filler) forget(b brain) error {
	if f.Service.Lacks(target.NewBrains) != "" && f.Service.Lacks(target.Delete) != "" {
		return nil
	}
	return f.notes().remove(b, notesExt, begunExt)
}
