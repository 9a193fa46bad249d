package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// maxSegment is the size in bytes at which a messages file is complete. Adding a message rewrites
// the last file, so this bounds the cost.
const maxSegment = 32 << 10

// AddMessages adds messages to a session, all or none, and returns their records in the same order
// (spec 2 and 4.1, memory_extract). The first message opens the session. Concurrent calls are
// serialised. A session that has ended is store.ErrConflict, an invalid argument an *ArgumentError,
// and content that is too long ErrTooLarge.
func (s *Service) AddMessages(
	ctx context.Context, h brain.Handle, session string, messages []protocol.SessionMessage,
) ([]protocol.SessionMessageRecord, error) {
	now := s.cfg.Now()
	checked, err := newMessages(session, messages, now)
	if err != nil {
		return nil, err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, m := range checked {
		size += 2 * len(m.Content) // in the messages and in the transcript
	}
	err = s.addingJobs(ctx, h, func() error {
		return s.messageGroups.of(h).commit(ctx, st, "add session messages", size, func(b *store.Batch) error {
			return s.addMessages(ctx, b, session, checked, now)
		})
	})
	if err != nil {
		return nil, err
	}
	records := make([]protocol.SessionMessageRecord, len(checked))
	for i, m := range checked {
		records[i] = m.record(session)
	}
	return records, nil
}

// newMessages checks the arguments of AddMessages.
func newMessages(session string, messages []protocol.SessionMessage, now time.Time) ([]message, error) {
	if err := checkSessionID(session); err != nil {
		return nil, err
	}
	if err := checkNumber("messages", len(messages), 1, protocol.MaxSessionMessages); err != nil {
		return nil, err
	}
	out := make([]message, len(messages))
	for i, m := range messages {
		where := ""
		if len(messages) > 1 {
			where = fmt.Sprintf("messages[%d].", i)
		}
		var err error
		if out[i], err = newMessage(m, where, now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addMessages adds messages to the session, and opens it if there is none. Each call numbers the
// messages. It has the facts extracted from messages that do not ask to skip extraction.
func (s *Service) addMessages(
	ctx context.Context, b *store.Batch, session string, messages []message, now time.Time,
) error {
	state, err := readSession(ctx, b, session)
	if store.IsNotFound(err) {
		now := now.UTC().Truncate(time.Millisecond)
		state, err = sessionState{
			Version: sessionVersion, ID: session, Generation: strings.ToLower(rand.Text()), CreatedAt: now,
		}, nil
	}
	if err != nil {
		return err
	}
	if state.ended() {
		return fmt.Errorf("%w: session %q ended at %s: use another session_id",
			store.ErrConflict, session, protocol.FormatTime(state.EndedAt))
	}
	w := segmentWriter{state: &state, now: now}
	for i := range messages {
		messages[i].Index = state.Messages
		if err := w.add(ctx, b, messages[i]); err != nil {
			return err
		}
		state.Messages++
	}
	if err := w.flush(ctx, b); err != nil {
		return err
	}
	if final := lastFinal(messages); final >= 0 {
		if err := s.addExtract(ctx, b, &state, final+1); err != nil {
			return err
		}
	}
	return state.write(ctx, b)
}

// lastFinal returns the index of the last message that does not skip extraction, or -1.
func lastFinal(messages []message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if !messages[i].skipsExtract() {
			return messages[i].Index
		}
	}
	return -1
}

// Session describes a session, or fails with store.ErrNotFound.
func (s *Service) Session(ctx context.Context, h brain.Handle, session string) (protocol.Session, error) {
	if err := checkSessionID(session); err != nil {
		return protocol.Session{}, err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.Session{}, err
	}
	state, err := readSession(ctx, st, session)
	if err != nil {
		return protocol.Session{}, err
	}
	return state.session(), nil
}
