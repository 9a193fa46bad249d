package brain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// List returns the records of the brains in a selection that are not damaged, ascending by id and
// tenant.
func (s *Service) List(ctx context.Context, sel Selection) ([]Record, error) {
	if s.shared != nil {
		list, err := s.shared.Select(ctx, sel)
		if err != nil {
			return nil, fmt.Errorf("list brains: %w", err)
		}
		return slices.DeleteFunc(list, func(r Record) bool { return r.Damage != nil }), nil
	}
	list := s.known(sel)
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Brain.ID, b.Brain.ID), cmp.Compare(a.Tenant, b.Tenant))
	})
	if sel.Limit > 0 {
		list = list[:min(sel.Limit, len(list))]
	}
	return list, nil
}

// Oldest returns the record of the brain in a selection that was created first and is not damaged,
// or ErrNotFound. It ignores the limit of the selection.
func (s *Service) Oldest(ctx context.Context, sel Selection) (Record, error) {
	if s.shared != nil {
		r, err := s.shared.Oldest(ctx, sel)
		if err != nil {
			return Record{}, fmt.Errorf("find the oldest brain: %w", err)
		}
		return r, nil
	}
	list := s.known(sel)
	if len(list) == 0 {
		return Record{}, ErrNotFound
	}
	return slices.MinFunc(list, func(a, b Record) int {
		return cmp.Or(a.Brain.CreatedAt.Compare(b.Brain.CreatedAt), cmp.Compare(a.Brain.ID, b.Brain.ID))
	}), nil
}

// Count returns the number of brains. If other processes use them, damaged ones are included.
func (s *Service) Count(ctx context.Context) (int, error) {
	if s.shared != nil {
		n, err := s.shared.Count(ctx)
		if err != nil {
			return 0, fmt.Errorf("count brains: %w", err)
		}
		return n, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.brains {
		if !e.busy && e.latest.Load().Damage == nil {
			n++
		}
	}
	return n, nil
}

// known returns the records of the brains in a selection that are not damaged. No other process
// uses the brains.
func (s *Service) known(sel Selection) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Record
	for _, e := range s.brains {
		if r := e.record(); !e.busy && r.Damage == nil && sel.includes(r) {
			list = append(list, r)
		}
	}
	return list
}
