package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// notes is a folder with a file for each brain of a service or a home. The file is empty while the
// brain is being filled.
type notes struct {
	dir   string // "" keeps nothing
	owner string // of the files, "" for all replays
}

func (c Config) notes() notes {
	n := notes{dir: c.Notes}
	if c.Daemon.Build == "" && c.Owner != "" {
		n.owner = "-" + digest(c.Owner)[:12]
	}
	return n
}

func (n notes) path(b brain) string { return filepath.Join(n.dir, b.name+n.owner+notesExt) }

const notesExt = ".json"

// read returns the notes of a brain, none if it is unknown or was never completely filled.
func (n notes) read(b brain) ([]byte, error) {
	if n.dir == "" {
		return nil, nil
	}
	data, err := inputfile.Read(n.path(b), inputfile.Large)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (n notes) write(b brain, data []byte) error {
	if n.dir == "" {
		return nil
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteData(n.path(b), 0o600, data)
}

func (n notes) remove(b brain) error {
	if n.dir == "" {
		return nil
	}
	if err := os.Remove(n.path(b)); !errors.Is(err, fs.ErrNotExist) {
		return err
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
		if name, ok := strings.CutSuffix(f.Name(), notesExt); ok {
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
	forget := func() error { return f.record.remove(b) }
	if f.Service.Lacks(target.Brains) != "" {
		forget = func() error { return errors.Join(f.record.clear(), f.notes().clear()) }
	}
	err := forget()
	if err == nil && remote.TakesNotes() {
		err = f.notes().write(b, nil)
	}
	return err
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
	err := remote.Find(ctx)
	held := 0
	if err == nil {
		held, err = f.held(ctx, remote, b, math.MaxInt)
	}
	if _, failed := target.AsFailure(err); failed {
		return nil // as a search may if there are no texts
	}
	if err == nil && held > 0 {
		err = fmt.Errorf("the store of %s has at least %s already, and %s: empty it, %s",
			f.Service.URL(), figure.Count(held, "text"), why, advice)
	}
	return err
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

// held is seed.Brain.Held for the documents of the brain's first haystack.
func (f *filler) held(ctx context.Context, remote *seed.Brain, b brain, enough int) (int, error) {
	h, err := f.bench.Haystack(b.haystacks[0])
	if err != nil {
		return 0, err
	}
	return remote.Held(ctx, h.Documents(), enough)
}

// lost reports whether a running service has lost a filled brain: a search finds nothing in it.
func (f *filler) lost(ctx context.Context, remote *seed.Brain, b brain) (bool, error) {
	if !f.Running || b.sessions == 0 || f.Service.Lacks(target.Search) != "" {
		return false, nil
	}
	held, err := f.held(ctx, remote, b, 1)
	if failure, ok := target.AsFailure(err); ok && !failure.Retryable() {
		return true, nil // as a search does in a brain that does not exist
	}
	if err != nil {
		err = fmt.Errorf("search brain %q, which is filled: %w", b.name, err)
	}
	return held == 0, err
}

// Leave removes filled brains from the service, even if ctx has ended. A later replay fills them
// again.
func (f *FilledBrains) Leave(ctx context.Context) error {
	c := f.from
	store := c.Service.Store(c.Dialect)
	for _, name := range slices.Compact(slices.Sorted(maps.Values(f.Brains))) {
		err := c.notes().remove(brain{name: name})
		if err == nil {
			err = store.Remove(ctx, name, name)
		}
		if err != nil {
			return fmt.Errorf("brain %q could not be removed from %s: %w", name, c.Service.URL(), err)
		}
	}
	return nil
}

// recall makes the notes of the process that filled a brain known to the service. It reports false
// if there are none, or if the brain is lost.
func (f *filler) recall(ctx context.Context, remote *seed.Brain, b brain) (bool, error) {
	if !remote.TakesNotes() {
		return true, nil
	}
	data, err := f.notes().read(b)
	if err == nil && len(data) > 0 {
		err = remote.UseNotes(data)
	}
	if err != nil {
		return false, fmt.Errorf("notes on brain %q: %s: %w; delete the file, and the brain is filled again",
			b.name, f.notes().path(b), err)
	}
	if len(data) == 0 {
		return false, nil
	}
	lost, err := f.lost(ctx, remote, b)
	return !lost, err
}

// note keeps the notes of a filled brain.
func (f *filler) note(remote *seed.Brain, b brain) error {
	data, err := remote.Notes()
	if err == nil && data != nil {
		err = f.notes().write(b, data)
	}
	return err
}

// forget removes the notes of a brain that was removed. Those of a store that cannot be emptied say
// that it may still have texts.
func (f *filler) forget(b brain) error {
	if f.Service.Lacks(target.NewBrains) != "" && f.Service.Lacks(target.Delete) != "" {
		return nil
	}
	return f.notes().remove(b)
}
