package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/distill"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/retry"
)

// maxReflectBytes limits how much of the end of a session a reflection reads, in bytes of the
// messages files. Each 12,000 bytes of text are a request to the model.
const maxReflectBytes = 256 << 10

// reflection is the stored outcome of reflecting on a session. Attempts counts the calls of the
// model.
type reflection struct {
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
	Model    string `json:"model,omitempty"`
	// Found is set if the status is completed.
	Found *protocol.Reflection `json:"found,omitempty"`
}

// Reflect ends a session, has its remaining facts extracted, and asks the model for its outcome
// (spec 4.1, memory_reflect). An outcome worth remembering becomes an episode, a document below
// memory/agent/episodes/.
//
// The session is ended first, so after a failure of the model it is ended with the status failed.
// Another call tries again. Once the status is completed or no_result, further calls return the
// same response. Concurrent calls ask the model once. When ctx ends, the reflection continues, and
// a later call returns it. A missing session, and one in which neither a user nor an assistant said
// anything, is no_result. A missing session is not created.
func (s *Service) Reflect(
	ctx context.Context, h brain.Handle, session string,
) (protocol.ReflectResponse, error) {
	if err := checkSessionID(session); err != nil {
		return protocol.ReflectResponse{}, err
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.ReflectResponse{}, err
	}
	before, err := readSession(ctx, st, session)
	if store.IsNotFound(err) {
		return protocol.ReflectResponse{
			ReflectionStatus: protocol.ReflectionNoResult, SessionID: session,
		}, nil
	}
	if err != nil {
		return protocol.ReflectResponse{}, err
	}
	// A session that was deleted may still be reflected on while another one has its id.
	flight := session + "\x00" + before.Generation
	state, err := shared(ctx, s, h, s.reflecting.of(h), flight, func(ctx context.Context) (sessionState, error) {
		// Calls share the work in this process only.
		held, release, err := waitForLease(ctx, h, "reflect/"+sessionKey(session))
		if err != nil {
			return before, err
		}
		defer release()
		return s.endAndReflect(held, h, before)
	})
	if err != nil {
		return protocol.ReflectResponse{}, err
	}
	return state.reflectResponse(), nil
}

// endAndReflect ends a session and reflects on it, unless another call did so after the session was
// read.
func (s *Service) endAndReflect(
	ctx context.Context, h brain.Handle, before sessionState,
) (sessionState, error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return before, err
	}
	state, err := s.endSession(ctx, h, st, before)
	if err != nil {
		return state, err
	}
	// Another call may have asked the model since.
	if state.Reflection.Attempts != before.Reflection.Attempts || state.Reflection.final() {
		return state, nil
	}
	return s.reflect(ctx, h, st, state)
}

// leasePoll is the interval at which waitForLease tries to take a lease.
const leasePoll = 100 * time.Millisecond

// waitForLease is brain.Handle.Lease, but waits while another process has the lease.
func waitForLease(
	ctx context.Context, h brain.Handle, name string,
) (held context.Context, release func(), err error) {
	for {
		held, release, err = h.Lease(ctx, name)
		if !errors.Is(err, brain.ErrLeased) {
			return held, release, err
		}
		if err := retry.Sleep(ctx, leasePoll); err != nil {
			return nil, nil, err
		}
	}
}

// final reports whether reflecting again would change nothing.
func (r reflection) final() bool {
	return r.Status == protocol.ReflectionCompleted || r.Status == protocol.ReflectionNoResult
}

func (st sessionState) reflectResponse() protocol.ReflectResponse {
	return protocol.ReflectResponse{
		ReflectionStatus: st.Reflection.Status, Reflection: st.Reflection.Found,
		ReflectionAttempted: st.Reflection.Attempts > 0, SessionID: st.ID,
		EndedAt: protocol.FormatTime(st.EndedAt), Model: st.Reflection.Model,
	}
}

// readSame reads the state of a session again. If the session was deleted, it fails with
// store.ErrNotFound, even if there is another one with the same id.
func readSame(ctx context.Context, r documentReader, before sessionState) (sessionState, error) {
	state, err := readSession(ctx, r, before.ID)
	if err == nil && state.Generation != before.Generation {
		err = fmt.Errorf("session %q was deleted: %w", before.ID, store.ErrNotFound)
	}
	return state, err
}

// endSession ends an open session, and adds a job for the facts that were not extracted.
func (s *Service) endSession(
	ctx context.Context, h brain.Handle, st *store.Store, before sessionState,
) (state sessionState, err error) {
	err = s.addingJobs(ctx, h, func() error {
		return st.Batch(ctx, store.BatchOptions{Reason: "end a session"}, func(b *store.Batch) error {
			state, err = readSame(ctx, b, before)
			if err != nil || state.ended() {
				return err
			}
			state.EndedAt = s.cfg.Now().UTC().Truncate(time.Millisecond)
			if state.Extracted < state.Messages {
				if err := s.addExtract(ctx, b, &state, state.Messages); err != nil {
					return err
				}
			}
			return state.write(ctx, b)
		})
	})
	return state, err
}

// reflect asks the model and stores the outcome. A failure of the model is an outcome, the end of
// the context an error.
func (s *Service) reflect(
	ctx context.Context, h brain.Handle, st *store.Store, state sessionState,
) (sessionState, error) {
	messages, err := lastMessages(ctx, st, state, maxReflectBytes)
	if err != nil {
		return state, err
	}
	found, use, err := s.distiller.Reflect(ctx, distillMessages(messages))
	if ctx.Err() != nil {
		return state, context.Cause(ctx)
	}
	if err != nil {
		s.cfg.Logger.Error("a reflection failed", "brain", h.Brain().ID, "session", state.ID, "error", err)
	}
	outcome := outcomeOf(found, use, err)
	err = st.Batch(ctx, store.BatchOptions{Reason: "reflect on a session"}, func(b *store.Batch) error {
		current, err := readSame(ctx, b, state)
		if err != nil {
			return err
		}
		if current.Reflection.Attempts != state.Reflection.Attempts || current.Reflection.final() {
			state = current // another process took the lease over when this one had lost it
			return nil
		}
		outcome.Attempts += current.Reflection.Attempts
		if found.RecordEpisode {
			if outcome.Found.Path, err = writeEpisode(ctx, b, current, found, messages); err != nil {
				return err
			}
		}
		current.Reflection = outcome
		state = current
		return current.write(ctx, b)
	})
	return state, err
}

// outcomeOf returns the outcome without the path of the episode. Its Attempts is the number to add.
func outcomeOf(found distill.Reflection, use distill.Use, err error) reflection {
	switch {
	case err != nil:
		return reflection{Status: protocol.ReflectionFailed, Attempts: 1, Model: use.Model}
	case found.Outcome == "": // there was nothing to ask the model about
		return reflection{Status: protocol.ReflectionNoResult}
	}
	return reflection{
		Status: protocol.ReflectionCompleted, Attempts: 1, Model: use.Model,
		Found: &protocol.Reflection{
			Outcome: found.Outcome, ShouldRecordEpisode: found.RecordEpisode, RetryFeedback: found.Feedback,
		},
	}
}

// lastMessages returns the messages of the last segments of a session. It reads segments until they
// have limit bytes, and at least one.
func lastMessages(
	ctx context.Context, st *store.Store, state sessionState, limit int,
) ([]message, error) {
	var parts [][]message
	size := 0
	err := readBackwards(ctx, st, state, func(path string, data []byte) (more bool, err error) {
		messages, err := decodeMessages(path, data)
		size += len(data)
		parts = append(parts, messages)
		return size < limit, err
	})
	slices.Reverse(parts)
	return slices.Concat(parts...), err
}

// writeEpisode adds the document of an episode to a batch, and returns its path. It never replaces
// a document.
func writeEpisode(
	ctx context.Context, b *store.Batch, state sessionState, found distill.Reflection, messages []message,
) (string, error) {
	day := latestDay(nil, messages)
	stem := episodesFolder + day.Format(time.DateOnly) + "-" + sessionKey(state.ID)
	name := stem + markdownExt
	for n := 2; ; n++ {
		taken, err := b.Exists(ctx, name)
		if err != nil {
			return "", err
		}
		if !taken {
			break
		}
		name = fmt.Sprintf("%s=%d%s", stem, n, markdownExt)
	}
	text, err := sealedDocument(strings.TrimRight(found.Episode, "\n")+"\n", frontmatter.Fields{
		Title: found.Title, Date: day, Source: protocol.SourceReflect, Created: state.EndedAt,
		Metadata: map[string]any{"session_id": state.ID, "outcome": found.Outcome},
	})
	if err != nil {
		return "", err
	}
	return name, b.Write(ctx, name, []byte(text))
}
