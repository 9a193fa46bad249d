package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"evalctl/daemon/brain"
	"evalctl/daemon/store/fsstore"
	"evalctl/internal/atomicfile"
)

// Salvage copies the readable parts of a home with documents in files to a new home. It writes a
// line for each brain and each lost part to w. It does not change the damaged home, which no daemon
// may use meanwhile.
func Salvage(ctx context.Context, home, out string, w io.Writer) error {
	if home == "" {
		return errors.New("nothing to salvage without a home: name it with --home")
	}
	kind, err := os.ReadFile(filepath.Join(home, engineFile))
	if had := strings.TrimSpace(string(kind)); err == nil && had != StoreFS && had != "" {
		return fmt.Errorf("home %s has store %s: only homes with store %s can be salvaged", home, had, StoreFS)
	}
	brains := filepath.Join(home, "brains")
	unlock, err := lockBrains(filepath.Join(brains, ".lock"))
	if err != nil {
		return fmt.Errorf("home %s: %w", home, err)
	}
	defer unlock()
	entries, err := os.ReadDir(brains)
	if err != nil {
		return fmt.Errorf("home %s: %w", home, err)
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return fmt.Errorf("create the new home: %w", err)
	}
	if err := claim(out, StoreFS); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !brain.ValidID(e.Name()) {
			continue
		}
		if err := salvageBrain(ctx, filepath.Join(brains, e.Name()), filepath.Join(out, "brains", e.Name()), w); err != nil {
			return fmt.Errorf("brain %s: %w", e.Name(), err)
		}
	}
	return nil
}

// lockBrains locks a home against daemons. It does not create the file of the lock.
func lockBrains(file string) (unlock func(), err error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	lock := flock.New(file)
	locked, err := lock.TryRLock()
	if err == nil && !locked {
		err = brain.ErrInUse
	}
	return func() { _ = lock.Close() }, err
}

func salvageBrain(ctx context.Context, dir, out string, w io.Writer) error {
	id := filepath.Base(dir)
	found, err := fsstore.Salvage(ctx, dir, out)
	if err != nil {
		return err
	}
	record, err := os.ReadFile(filepath.Join(dir, "brain.json"))
	if err != nil {
		found.Lost = append(found.Lost, fmt.Sprintf("the record of the brain: %v", err))
	} else if err := atomicfile.WriteData(filepath.Join(out, "brain.json"), 0o600, record); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d documents, %d of them from the log; %d other versions in %s\n",
		id, found.Documents, found.FromLogs, found.Older, filepath.Join(out, "older"))
	for _, lost := range found.Lost {
		fmt.Fprintf(w, "%s: lost: %s\n", id, lost)
	}
	return nil
}
