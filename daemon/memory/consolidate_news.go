package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
)

// newsEvery is how long a settled brain is left alone. After it a consolidation looks again
// although nothing was written, because episodes become stale.
const newsEvery = time.Hour

// settledState is the state of a brain in which a consolidation would do nothing. It spares the
// next one from reading all documents.
type settledState struct {
	store *store.Store
	seq   uint64 // of the last commit
	// files hashes the paths, sizes and times of all files that a consolidation reads. Other
	// programs can change them without a commit.
	files [sha256.Size]byte
	time  time.Time
}

// stateOf returns the state of a brain at present.
func (s *Service) stateOf(ctx context.Context, h brain.Handle, st *store.Store) (settledState, error) {
	if err := h.Sync(ctx); err != nil {
		return settledState{}, err
	}
	now := settledState{store: st, seq: st.Seq(), time: s.cfg.Now().Truncate(newsEvery)}
	hash := sha256.New()
	for _, folder := range []string{factsFolder, episodesFolder, summariesFolder, notesFolder, consolidationsFolder} {
		files, err := st.List(ctx, strings.TrimSuffix(folder, "/"), store.ListOptions{Recursive: true, IncludeGenerated: true})
		if err != nil {
			return settledState{}, err
		}
		for _, f := range files {
			fmt.Fprintf(hash, "%q %d %d %q\n", f.Path, f.Size, f.ModTime.UnixNano(), f.Version)
		}
	}
	hash.Sum(now.files[:0])
	return now, nil
}

// isSettled reports whether a consolidation of the state would do nothing.
func (s *Service) isSettled(h brain.Handle, state settledState) bool {
	known := s.settled.of(h).Load()
	return known != nil && *known == state
}

// settle remembers state, which was taken before the documents were read, if a consolidation of
// them would do nothing.
func (s *Service) settle(ctx context.Context, h brain.Handle, st *store.Store, state settledState, read holdings) {
	p := newPlan(read, s.cfg.Now())
	if units := p.unitsToCompile(); len(units) > 0 {
		return
	}
	p.addSummaries(compilation{})
	if !p.nothingToDo() || p.err != nil || !p.next.equal(p.state) {
		return
	}
	if again, err := s.stateOf(ctx, h, st); err == nil && again == state {
		s.settled.of(h).Store(&state)
	}
}
