package gitstore_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/longtest"
)

// pullDirEnv makes the test binary run as the process that is killed during a pull.
const pullDirEnv = "GITSTORE_PULL_DIR"

// pullUntilKilled makes a local commit and then pulls.
func pullUntilKilled(dir string) int {
	ctx := context.Background()
	r, err := gitstore.Open(ctx, dir, nil)
	if err == nil {
		var mine []store.FileInfo
		mine, err = r.List(ctx, "mine", store.ListOptions{})
		if err == nil {
			err = r.Write(ctx, fmt.Sprintf("mine/%d", len(mine)), nil)
		}
	}
	if err == nil {
		fmt.Println("pulling")
		err = r.Pull(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("pulled")
	select {} // until it is killed
}

// TestCrashInPull kills a process at random instants of a pull that rebases. Afterwards the store
// must be at the commit before the pull or at the one after it, and must be able to pull.
func TestCrashInPull(t *testing.T) {
	rounds := storetest.Rounds(t, os.Getenv(crashRoundsEnv), longtest.Rounds(6, 20))
	one, two, _, dir := openPair(t, nil)
	must(t, two.Close())
	before, after := 0, 0
	for round := 1; round <= rounds; round++ {
		opts := store.BatchOptions{Reason: fmt.Sprint("round ", round)}
		must(t, one.Batch(t.Context(), opts, func(b *store.Batch) error {
			content := []byte(strconv.Itoa(round))
			for i := range 20 {
				if err := b.Write(t.Context(), fmt.Sprintf("theirs/%d", i), content); err != nil {
					return err
				}
			}
			return b.Rename(t.Context(), movedPath(round-1), movedPath(round))
		}), one.Push(t.Context()))
		storetest.Kill(t, pullDirEnv, dir, 1, 120*time.Millisecond)
		if left, _ := filepath.Glob(filepath.Join(dir, ".git", "rebase-*")); len(left) > 0 {
			t.Errorf("round %d: a rebase is left behind: %q", round, left)
		}
		r := openDir(t, dir, nil)
		docs := storetest.Contents(t, r.Store)
		switch docs["theirs/0"] {
		case strconv.Itoa(round):
			after++
			wantRound(t, docs, round, round)
		default:
			before++
			wantRound(t, docs, round-1, round)
		}
		wantSound(t, r, dir)
		r = openDir(t, dir, nil)
		must(t, r.Pull(t.Context()), r.Push(t.Context()), one.Pull(t.Context()))
		wantRound(t, storetest.Contents(t, r.Store), round, round)
		wantSound(t, r, dir)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("killed before the pull was done: %d, after: %d", before, after)
}

// movedPath returns the path of the document that every round moves.
func movedPath(round int) string {
	if round == 0 {
		return "shared"
	}
	return fmt.Sprintf("moved/%d", round)
}

// wantRound checks that docs contains all the remote's documents of round theirs, and the
// documents of the first mine local commits.
func wantRound(t *testing.T, docs map[string]string, theirs, mine int) {
	t.Helper()
	want := map[string]string{movedPath(theirs): "1\n2\n3\n4\n5\n"}
	for i := range 20 {
		if theirs > 0 {
			want[fmt.Sprintf("theirs/%d", i)] = strconv.Itoa(theirs)
		}
	}
	for i := range mine {
		want[fmt.Sprintf("mine/%d", i)] = ""
	}
	if !maps.Equal(docs, want) {
		t.Errorf("documents %s, want round %d and %d commits",
			strings.Join(slices.Sorted(maps.Keys(docs)), " "), theirs, mine)
	}
}
