package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/key"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// Files locates the files of a replay: one ledger, and for each arm a journal, a result and a
// daemon log. They are named after the arm or, if there is only one, as the caller wants.
type Files struct {
	Dir string
	// name is the base name of a single arm's files, empty if each arm has its own.
	name string
	// begun is when a new replay begins if Dir depends on it, else zero.
	begun time.Time
}

// start returns when a new replay begins. A replay that is resumed without its folder is looked for
// by that time.
func (f Files) start() time.Time {
	if f.begun.IsZero() {
		return time.Now().UTC()
	}
	return f.begun
}

// resultExt is the file extension of results.
const resultExt = ".json"

// fileOf returns the files of a replay with one arm and its result at path.
func fileOf(path string) (Files, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Files{}, fmt.Errorf("%s is a folder; name a file in it", path)
	}
	name, ok := strings.CutSuffix(filepath.Base(path), resultExt)
	if !ok || name == "" {
		return Files{}, fmt.Errorf("%s: the name of a result file ends in %s", path, resultExt)
	}
	return Files{Dir: filepath.Dir(path), name: name}, nil
}

// ledger returns the path of the ledger.
func (f Files) ledger() string {
	if f.name == "" {
		return filepath.Join(f.Dir, "replay"+ledger.Ext)
	}
	return filepath.Join(f.Dir, f.name+ledger.Ext)
}

// of returns the name of an arm's files without extensions.
func (f Files) of(a Arm) string {
	if f.name != "" {
		return f.name
	}
	return a.Name
}

func (f Files) result(a Arm) string { return filepath.Join(f.Dir, f.of(a)+resultExt) }

func (f Files) journal(a Arm) string { return filepath.Join(f.Dir, f.of(a)+".journal") }

// Lock creates the folder and locks the files of all arms. It fails if another process uses any of
// them or, unless resume is set, if the ledger of an unfinished replay exists.
func (f Files) Lock(arms []Arm, resume bool) (release func(), err error) {
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, a := range arms {
		r, err := journal.LockOutput(f.Dir, f.of(a))
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, r)
	}
	for _, a := range arms {
		err = errors.Join(err, dropUnbegun(f.journal(a)))
	}
	if err = errors.Join(err, dropUnbegun(f.ledger())); err != nil {
		release()
		return nil, err
	}
	_, err = os.Stat(f.ledger())
	if !resume && !errors.Is(err, fs.ErrNotExist) {
		release()
		return nil, fmt.Errorf("%s is the ledger of a replay that did not finish; "+
			"continue it with --resume %[1]s, or give another --output", f.ledger())
	}
	return release, nil
}

// maxStart limits the first line of a journal or a ledger.
const maxStart = 16 << 20

// dropUnbegun removes a journal or ledger whose process was killed before it wrote the first line.
// Such a run asked nothing.
func dropUnbegun(path string) error {
	file, err := inputfile.Open(path, inputfile.Streamed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	start, err := io.ReadAll(io.LimitReader(file, maxStart))
	if err != nil || bytes.ContainsRune(start, '\n') || len(start) == maxStart {
		return err
	}
	return os.Remove(path)
}

// finished returns the result of an arm that an earlier process finished, ok false if there is
// none. If the journal still exists, the process ended before it could remove it; such an arm is
// finished again from its journal.
func (f Files) finished(a Arm, l ledger.Books) (res result.Result, ok bool, err error) {
	if _, err := os.Stat(f.journal(a)); !errors.Is(err, fs.ErrNotExist) {
		return res, false, err
	}
	if _, err := os.Stat(f.result(a)); errors.Is(err, fs.ErrNotExist) {
		return res, false, nil
	}
	r, err := resultfile.Open(f.result(a))
	if err != nil {
		return res, false, err
	}
	defer r.Close()
	res = r.Result()
	return res, res.Stopped == "" && res.StartedAt.Equal(l.StartedAt()), nil
}

// open returns the journal of an arm. resumed is set if the journal already exists.
func (f Files) open(a Arm, id result.Identity, l ledger.Books) (j *journal.Journal, resumed bool, err error) {
	j, err = journal.Open(f.journal(a))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	case err == nil && j.StartedAt().Equal(l.StartedAt()):
		if err := differences(f.journal(a), j.Identity(), id); err != nil {
			j.Close()
			return nil, false, err
		}
		return j, true, nil
	case err == nil:
		j.Close() // another replay's, which is kept
	}
	j, err = journal.CreateNamed(f.Dir, f.of(a), id, l.StartedAt(), nil)
	return j, false, err
}

// check returns an error if the arm was begun as a different experiment, as far as known before its
// daemon runs.
func (f Files) check(a Arm, id result.Identity, l ledger.Books) error {
	j, err := journal.Open(f.journal(a))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer j.Close()
	if !j.StartedAt().Equal(l.StartedAt()) {
		return nil
	}
	id.Daemon.Version = j.Identity().Daemon.Version
	return differences(j.Path(), j.Identity(), id)
}

func differences(path string, was, is result.Identity) error {
	if diff := key.Differences(was, is); len(diff) > 0 {
		return &DifferentError{Path: path, Differences: diff}
	}
	return nil
}

// DifferentError means that a journal belongs to another experiment.
type DifferentError struct {
	Path        string
	Differences []string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s belongs to another experiment:\n  %s\nstart a new replay without --resume",
		e.Path, strings.Join(e.Differences, "\n  "))
}

// defaultFiles returns the files of a replay without an explicit output: a file in the day's folder
// for one arm, a subfolder for several.
func defaultFiles(root string, arms []Arm, started time.Time) Files {
	day := filepath.Join(root, started.Format(time.DateOnly))
	if len(arms) == 1 {
		return Files{Dir: day, name: arms[0].Name + ".replay", begun: started}
	}
	return Files{Dir: filepath.Join(day, "replay-"+started.Format("150405")), begun: started}
}
