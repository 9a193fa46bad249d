package store

import "context"

// plan returns what a mutation is planned on and committed to: the gate or, if other processes
// change the documents too, a transaction. The caller holds the write lock and must call end.
func (s *Store) plan() (on documents, end func()) {
	if s.feed == nil {
		return s.gate, func() {}
	}
	h := &held{gate: s.gate, backend: s.feed.backend}
	return h, h.end
}

// held is a transaction that begins when it is first used.
type held struct {
	gate    *gate
	backend shared
	tx      Transaction
}

// end rolls back what was not committed.
func (h *held) end() {
	if h.tx != nil {
		h.tx.Rollback()
	}
}

// enter is gate.enter.
func (h *held) enter(ctx context.Context) error {
	if err := h.gate.enter(ctx); err != nil || h.tx != nil {
		return err
	}
	tx, err := h.backend.Begin(ctx)
	if err != nil {
		h.gate.mu.RUnlock()
		return err
	}
	h.tx = tx
	return nil
}

func (h *held) read(ctx context.Context, path string) ([]byte, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.gate.mu.RUnlock()
	return h.tx.Read(ctx, path)
}

func (h *held) stat(ctx context.Context, path string) (FileInfo, error) {
	if err := h.enter(ctx); err != nil {
		return FileInfo{}, err
	}
	defer h.gate.mu.RUnlock()
	return h.tx.Stat(ctx, path)
}

func (h *held) list(ctx context.Context, dir string) ([]FileInfo, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.gate.mu.RUnlock()
	return h.tx.List(ctx, dir)
}

// prefetch announces which documents operations concern.
func (h *held) prefetch(ctx context.Context, ops []Op) error {
	var paths []string
	for _, op := range ops {
		for _, path := range []string{op.Path, op.To} {
			if path != "" && ValidPath(path) == nil {
				paths = append(paths, path)
			}
		}
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.gate.mu.RUnlock()
	return h.tx.Prefetch(ctx, paths)
}

func (h *held) commit(ctx context.Context, c Commit, events []ChangeEvent) (seq uint64, err error) {
	if err := h.enter(ctx); err != nil {
		return 0, err
	}
	defer h.gate.mu.RUnlock()
	return h.tx.Commit(ctx, c, events)
}
