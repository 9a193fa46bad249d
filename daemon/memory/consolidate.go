package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/distill"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Consolidate tidies the documents that the daemon itself has written into a brain (spec 4.1,
// memory_consolidate):
//
//   - it promotes a fact that at least two sessions state to a note
//   - it prunes facts that are promoted, repeated, or superseded by a newer one
//   - it compiles summaries of facts, episodes and notes on one subject
//   - it prunes episodes that are older than staleAfter and covered by a summary
//
// It changes and deletes only documents for which isSealed returns true: no document of a user, and
// none that a user has edited. One batch has all changes, and a record with the full text of
// everything pruned or replaced. With DryRun nothing changes, and the result lists what a
// consolidation would do if the model gave the same replies.
//
// The model is asked before the batch. The batch makes the plan again from the current documents,
// and leaves out summaries of texts that have changed. If the model fails, nothing changes. While a
// brain is being consolidated, another call fails with store.ErrConflict.
func (s *Service) Consolidate(
	ctx context.Context, h brain.Handle, r protocol.ConsolidateRequest,
) (protocol.ConsolidateResponse, error) {
	defer h.Acquire()()
	result, err := s.consolidate(ctx, h, r.DryRun)
	if ended := h.Err(); err != nil && ended != nil {
		err = ended // the store is closed because of it
	}
	return protocol.ConsolidateResponse{Result: result}, err
}

func (s *Service) consolidate(ctx context.Context, h brain.Handle, dryRun bool) (protocol.Consolidation, error) {
	var none protocol.Consolidation
	st, err := h.Store(ctx)
	if err != nil {
		return none, err
	}
	if !dryRun {
		if _, running := s.consolidating.LoadOrStore(h, true); running {
			return none, beingConsolidated(h)
		}
		defer s.consolidating.Delete(h)
		held, release, err := h.Lease(ctx, "consolidate")
		if errors.Is(err, brain.ErrLeased) {
			return none, beingConsolidated(h)
		}
		if err != nil {
			return none, err
		}
		defer release()
		ctx = held
	}
	now := s.cfg.Now()
	state, err := s.stateOf(ctx, h, st)
	if err != nil {
		return none, err
	}
	if s.isSettled(h, state) {
		return newPlan(holdings{}, now).result(dryRun, "", ""), nil
	}
	before, err := readHoldings(ctx, st)
	if err != nil {
		return none, err
	}
	p := newPlan(before, now)
	summaries, use, err := s.compile(ctx, p.unitsToCompile())
	if err != nil {
		return none, err
	}
	if dryRun {
		s.settle(ctx, h, st, state, before)
		p.addSummaries(summaries)
		return p.result(true, "", use.Model), p.err
	}
	record := ""
	options := store.BatchOptions{Reason: "consolidate", Message: "Consolidate the memory"}
	err = st.Batch(ctx, options, func(b *store.Batch) error {
		current, err := readHoldings(ctx, b)
		if err != nil {
			return err
		}
		p = newPlan(current, now)
		p.addSummaries(summaries)
		record, err = p.apply(ctx, b, use.Model)
		return err
	})
	if err != nil {
		return none, err
	}
	// The consolidation has succeeded, even if its outcome cannot be remembered.
	if state, err := s.stateOf(ctx, h, st); err == nil {
		if after, err := readHoldings(ctx, st); err == nil {
			s.settle(ctx, h, st, state, after)
		}
	}
	return p.result(false, record, use.Model), nil
}

func beingConsolidated(h brain.Handle) error {
	return fmt.Errorf("%w: brain %s is being consolidated: try again later", store.ErrConflict, h.Brain().ID)
}

// compilation is the model's result for the units.
type compilation struct {
	summaries []compiledSummary
	read      []string // keys of the units that were read
}

type compiledSummary struct {
	title, text string
	from        []string // keys of units
}

// compile asks the model for summaries of the units.
func (s *Service) compile(ctx context.Context, units []unit) (compilation, distill.Use, error) {
	var c compilation
	notes := make([]distill.Note, len(units))
	for i, u := range units {
		notes[i] = distill.Note{Title: u.title, Text: u.text, Date: u.date}
		c.read = append(c.read, u.key)
	}
	summaries, use, err := s.distiller.Compile(ctx, notes)
	if err != nil {
		return compilation{}, use, err
	}
	for _, sum := range summaries {
		keys := make([]string, len(sum.From))
		for i, n := range sum.From {
			keys[i] = units[n].key
		}
		c.summaries = append(c.summaries, compiledSummary{sum.Title, sum.Text, keys})
	}
	return c, use, nil
}

// staleAfter is the age from which an episode that a summary covers is pruned.
const staleAfter = 30 * 24 * time.Hour
