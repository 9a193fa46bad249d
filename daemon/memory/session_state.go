package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// sessionVersion is the version of the files of a session.
const sessionVersion = 1

// sessionState is the content of a session's _session.json. Its size is bounded, so that the cost
// of adding a message does not grow with the session.
type sessionState struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Generation is random. It tells a session from a deleted one that had the same id. The states
	// of older programs have none.
	Generation string    `json:"generation,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	Messages   int       `json:"messages"`

	// Segment is the last segment, SegmentBytes the size of its messages file, and Day the day of
	// its messages.
	Segment      int    `json:"segment"`
	SegmentBytes int    `json:"segment_bytes"`
	Day          string `json:"day"`

	// Final counts the first messages from which facts may be extracted, up to the last one that
	// does not skip extraction. Once the session has ended, it counts all messages.
	Final int `json:"final"`
	// ExtractJob is the last job that extracts facts from the session.
	ExtractJob string `json:"extract_job,omitempty"`
	// Extracted counts the first messages from which facts have been extracted. ExtractSegment has
	// the last of them.
	Extracted      int `json:"extracted"`
	ExtractSegment int `json:"extract_segment"`
	// FactsDocument is the last document of facts, counted from 0.
	FactsDocument int `json:"facts_document"`

	EndedAt    time.Time  `json:"ended_at,omitzero"`
	Reflection reflection `json:"reflection,omitzero"`
}

func statePath(id string) string { return sessionFile(id, "_session.json") }

// readSession returns the state of a session. A missing session is store.ErrNotFound, an unreadable
// state store.ErrDamaged.
func readSession(ctx context.Context, r documentReader, id string) (sessionState, error) {
	path := statePath(id)
	data, err := r.Read(ctx, path)
	if store.IsNotFound(err) {
		return sessionState{}, fmt.Errorf("session %q: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return sessionState{}, err
	}
	var state sessionState
	if err := json.Unmarshal(data, &state); err != nil {
		return state, store.Damaged(err, "%s is damaged: restore the file, or delete its folder", path)
	}
	if state.Version > sessionVersion {
		return state, store.UnsupportedSchema(
			"session %q was written by a newer program: its state has version %d, this program reads version %d: "+
				"use the newer program", id, state.Version, sessionVersion)
	}
	if state.Version != sessionVersion {
		return state, store.Damaged(nil, "%s is damaged: its version is %d, not %d: restore the file, or delete its folder",
			path, state.Version, sessionVersion)
	}
	if state.ID != id {
		return state, store.Damaged(nil, "%s is damaged: it belongs to session %q, not %q: move its folder back", path, state.ID, id)
	}
	return state, nil
}

// write adds the state to a batch.
func (st sessionState) write(ctx context.Context, b *store.Batch) error {
	data, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	return b.Write(ctx, statePath(st.ID), append(data, '\n'))
}

func (st sessionState) ended() bool { return !st.EndedAt.IsZero() }

// session returns the state as clients see it.
func (st sessionState) session() protocol.Session {
	s := protocol.Session{
		ID: st.ID, Status: protocol.SessionOpen, Messages: st.Messages, Extracted: st.Extracted,
		ExtractJob: st.ExtractJob,
		CreatedAt:  protocol.FormatTime(st.CreatedAt), ReflectionStatus: st.Reflection.Status,
	}
	if st.ended() {
		s.Status, s.EndedAt = protocol.SessionEnded, protocol.FormatTime(st.EndedAt)
	}
	return s
}
