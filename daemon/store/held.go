package store

import "context"

// plan returns the documents that a mutation reads and is committed to: the gate or, if other
// processes change the documents too, a transaction. The caller holds the write lock and must call
// end.
func (s *Store) plan() (on documents, end func()) {
	if s.feed == nil {
		return s.gate, func() {}
	}
	h := &heldTx{gate: s.gate, backend: s.feed.backend}
	return h, h.end
}

// heldTx is a transaction that begins when it is first used.
type heldTx struct {
	gate    *gate
	backend sharedBackend
	tx      Transaction
}

// end rolls back the transaction if it was not committed.
func (h *heldTx) end() {
	if h.tx != nil {
		h.tx.Rollback()
	}
}

// inTx is within for uses of the transaction, which the first one begins.
func inTx[T any](ctx context.Context, h *heldTx, use func() (T, error)) (T, error) {
	return within(ctx, h.gate, func() (result T, err error) {
		if h.tx == nil {
			tx, err := h.backend.Begin(ctx)
			if err != nil {
				return result, err
			}
			h.tx = tx
		}
		return use()
	})
}

func (h *heldTx) read(ctx context.Context, path string) ([]byte, error) {
	return inTx(ctx, h, func() ([]byte, error) { return h.tx.Read(ctx, path) })
}

func (h *heldTx) stat(ctx context.Context, path string) (FileInfo, error) {
	return inTx(ctx, h, func() (FileInfo, error) { return h.tx.Stat(ctx, path) })
}

func (h *heldTx) list(ctx context.Context, dir string) ([]FileInfo, error) {
	return inTx(ctx, h, func() ([]FileInfo, error) { return h.tx.List(ctx, dir) })
}

// prefetch announces which documents operations concern.
func (h *heldTx) prefetch(ctx context.Context, ops []Op) error {
	var paths []string
	for _, op := range ops {
		for _, path := range []string{op.Path, op.To} {
			if path != "" && ValidPath(path) == nil {
				paths = append(paths, path)
			}
		}
	}
	_, err := inTx(ctx, h, func() (struct{}, error) { return struct{}{}, h.tx.Prefetch(ctx, paths) })
	return err
}

func (h *heldTx) commit(ctx context.Context, c Commit, events []ChangeEvent) (seq uint64, err error) {
	return inTx(ctx, h, func() (uint64, error) { return h.tx.Commit(ctx, c, events) })
}
