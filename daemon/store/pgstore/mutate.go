package pgstore

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"evalctl/daemon/store"
)

// mutation is one operation on its way to the database.
type mutation struct {
	b    *backend
	op   store.Op
	when time.Time
	id   commitID
	sent bool // to the server: the outcome of an error may be unclear
	// The result, see store.Backend's optional method Mutate.
	event store.ChangeEvent
	ok    bool
}

// Mutate implements an optional method of store.Backend.
func (b *backend) Mutate(ctx context.Context, op store.Op, when time.Time) (store.ChangeEvent, bool, error) {
	m := &mutation{b: b, op: op, when: when, id: newCommitID()}
	if op.Kind == store.OpRename || op.Expect != "" {
		return m.event, false, nil
	}
	if op.Data == nil {
		m.op.Data = []byte{} // nil is NULL
	}
	err := b.db.groups.commit(ctx, m)
	if m.sent && unclear(err) {
		return b.mutated(ctx, m, err)
	}
	return m.event, m.ok, failure(context.WithoutCancel(ctx), err)
}

const mutate = "SELECT number, event FROM evalctl.mutate($1, $2, $3, $4, $5, $6, $7, $8)"

// arguments returns the parameters of mutate.
func (m *mutation) arguments() []any {
	return []any{
		m.b.brain, m.b.fence.Load(), string(m.op.Kind), m.op.Path, above(m.op.Path), m.op.Data, m.when.UnixNano(), m.id,
	}
}

// commit commits the operation with one statement, which is one round trip and one transaction. It
// waits for the lock of the brain.
func (m *mutation) commit(ctx context.Context) error {
	m.sent = false
	conn, err := m.b.db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// The outcome is needed even if the caller does not wait for it any longer.
	limited, cancel := limit(ctx)
	defer cancel()
	var seq *int64
	var kind *string
	m.sent = true
	err = conn.QueryRow(limited, mutate, m.arguments()...).Scan(&seq, &kind)
	if err == nil {
		m.committed(seq, kind)
	}
	return err
}

// committed takes the result of a function of the database for the operation.
func (m *mutation) committed(seq *int64, kind *string) {
	if seq == nil {
		return
	}
	m.event, m.ok = event(m.op.Path, uint64(*seq), store.ChangeKind(*kind), m.when), true
	m.b.db.committed(m.b.brain, m.event.Seq)
}

func event(path string, seq uint64, kind store.ChangeKind, when time.Time) store.ChangeEvent {
	return store.ChangeEvent{Seq: seq, Last: true, Kind: kind, Path: path, When: when}
}

// above returns the directories that contain a path.
func above(path string) []string {
	dirs := []string{}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		dirs = append(dirs, path[:i])
	}
	return dirs
}

// commitID identifies a commit to the process that makes it.
type commitID [16]byte

func newCommitID() (id commitID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}
