package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/gofrs/flock"

	"evalctl/internal/atomicfile"
)

const (
	usesSuffix  = ".used"
	usesVersion = 1
	// usesWait is how long a daemon waits for a program that changes the keys file.
	usesWait = 2 * time.Second
)

// usesFile is the content of the file beside a keys file, with the last uses of its keys. It
// contains no secret: only a part of each hash.
type usesFile struct {
	Version int                `json:"version"`
	Used    map[string]KeyTime `json:"last_used"` // by Key.ID
}

// LastUses returns when the keys of a keys file were last used, by Key.ID: the newest recorded
// request with a valid token. Daemons record at most once a minute, and when they end. A key that
// was never used is missing.
func LastUses(file string) (map[string]KeyTime, error) {
	target, err := linked(file)
	if err != nil {
		return nil, fmt.Errorf("keys file: %w", err)
	}
	return readUses(target + usesSuffix)
}

func readUses(file string) (map[string]KeyTime, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]KeyTime{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("last uses of keys: %w", err)
	}
	var uses usesFile
	if err := json.Unmarshal(data, &uses); err != nil {
		return nil, fmt.Errorf("%s: %w: remove the file, which only records when keys were last used", file, err)
	}
	if uses.Version > usesVersion {
		return nil, fmt.Errorf("%s: version %d is not supported, this evalctl reads %d: use a newer evalctl",
			file, uses.Version, usesVersion)
	}
	if uses.Version != usesVersion {
		return nil, fmt.Errorf("%s: version %d does not exist: remove the file, which only records when keys were last used", file, uses.Version)
	}
	return uses.Used, nil
}

// recordUses adds the last uses of the keys to the file, which other daemons may use too. It
// forgets keys that do not exist.
func recordUses(file string, keys []*caller) error {
	target, err := linked(file)
	if err != nil {
		return err
	}
	used := target + usesSuffix
	if !anyUsed(keys) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), usesWait)
	defer cancel()
	lock := flock.New(target + lockSuffix)
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("lock the keys file: %w", err)
	}
	defer func() { _ = lock.Close() }()
	old, err := readUses(used)
	if err != nil {
		return err
	}
	uses := usesFile{usesVersion, map[string]KeyTime{}}
	for _, c := range keys {
		at := old[c.ID()]
		if s := c.used.Load(); s > 0 && s > at.Unix() {
			at = NewKeyTime(time.Unix(s, 0))
		}
		if !at.IsZero() {
			uses.Used[c.ID()] = at
		}
	}
	if maps.Equal(uses.Used, old) {
		return nil
	}
	return atomicfile.Write(used, 0o600, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(uses)
	})
}

func anyUsed(keys []*caller) bool {
	for _, c := range keys {
		if c.used.Load() > 0 {
			return true
		}
	}
	return false
}
