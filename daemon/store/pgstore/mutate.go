package pgstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"evalctl/daemon/store"
)

// Mutate implements an optional method of store.Backend: one statement, which is one round trip and
// one transaction.
func (b *backend) Mutate(ctx context.Context, op store.Op, when time.Time) (store.ChangeEvent, bool, error) {
	var ev store.ChangeEvent
	var expected *int64
	if op.Expect != "" {
		n, err := strconv.ParseInt(op.Expect, 10, 64)
		if err != nil {
			return ev, false, nil // a conflict
		}
		expected = &n
	}
	if op.Kind == store.OpRename {
		return ev, false, nil
	}
	data := op.Data
	if data == nil {
		data = []byte{} // nil is NULL
	}
	conn, err := b.db.acquire(ctx)
	if err != nil {
		return ev, false, err
	}
	defer conn.Release()
	// The outcome is needed even if the caller does not wait for it any longer.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	id := newCommitID()
	var seq *int64
	var kind *string
	err = conn.QueryRow(limited, "SELECT number, event FROM evalctl.mutate($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		b.brain, b.fence.Load(), string(op.Kind), op.Path, above(op.Path), data, expected, when.UnixNano(), id).
		Scan(&seq, &kind)
	if unclear(err) {
		conn.Release() // it is closed
		return b.mutated(ctx, op, when, id, err)
	}
	if err != nil || seq == nil {
		return ev, false, failure(context.WithoutCancel(ctx), err)
	}
	b.db.committed(b.brain, uint64(*seq))
	return event(op.Path, uint64(*seq), store.ChangeKind(*kind), when), true, nil
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
