package memory

import (
	"context"
	"slices"

	"evalctl/daemon/distill"
	"evalctl/daemon/store"
)

// pendingMessages are the messages that a step reads.
type pendingMessages struct {
	state   sessionState
	earlier []message // from which facts were extracted before
	fresh   []message
	segment int // of the last message
}

// readUnextracted returns the next messages to extract facts from. There may be none.
func readUnextracted(ctx context.Context, st *store.Store, session string) (pendingMessages, error) {
	state, err := readSession(ctx, st, session)
	part := pendingMessages{state: state}
	if err != nil {
		return part, err
	}
	size := 0
	for n := max(state.ExtractSegment, 1); n <= state.Segment && state.Extracted+len(part.fresh) < state.Final; n++ {
		messages, err := readSegment(ctx, st, session, n)
		if store.IsNotFound(err) {
			// Without it, nothing after it would ever be extracted either.
			return part, &permanentError{err}
		}
		if err != nil {
			return part, err
		}
		for _, m := range messages {
			if m.Index < state.Extracted {
				part.earlier = append(part.earlier, m)
				continue
			}
			size += len(m.Content)
			if m.Index >= state.Final || len(part.fresh) == maxStepMessages || len(part.fresh) > 0 && size > maxStepBytes {
				return part.trimmed(), nil
			}
			part.fresh, part.segment = append(part.fresh, m), n
		}
	}
	return part.trimmed(), nil
}

// trimmed leaves the last of the earlier messages.
func (u pendingMessages) trimmed() pendingMessages {
	size, from := 0, len(u.earlier)
	for from > 0 && len(u.earlier)-from < maxEarlierMessages {
		if size += len(u.earlier[from-1].Content); size > maxEarlierBytes {
			break
		}
		from--
	}
	u.earlier = u.earlier[from:]
	return u
}

// first is the index of the first message of the step.
func (u pendingMessages) first() int { return u.state.Extracted }

// end is the index after the last message of the step. A step has at least one message.
func (u pendingMessages) end() int { return u.fresh[len(u.fresh)-1].Index + 1 }

// all returns the messages that the model reads.
func (u pendingMessages) all() []distill.Message {
	return distillMessages(slices.Concat(u.earlier, u.fresh))
}

func distillMessages(messages []message) []distill.Message {
	out := make([]distill.Message, len(messages))
	for i, m := range messages {
		out[i] = distill.Message{Role: m.Role, Name: m.Name, Text: m.Content, At: m.At}
	}
	return out
}

// facts converts the facts that the model found in the messages of the step. A fact about no
// particular day gets the day on which it was written.
func (u pendingMessages) facts(found []distill.Fact) []fact {
	var facts []fact
	for _, f := range found {
		i := f.Message - len(u.earlier)
		if i < 0 || i >= len(u.fresh) {
			continue
		}
		day := f.Date
		if day.IsZero() {
			day = dayOf(u.fresh[i].At)
		}
		facts = append(facts, fact{Text: f.Text, Date: day})
	}
	return facts
}

// actors returns who spoke, each once.
func (u pendingMessages) actors() []string {
	var actors []string
	for _, m := range u.fresh {
		if actor := m.actor(); actor != "" && !slices.Contains(actors, actor) {
			actors = append(actors, actor)
		}
	}
	return actors
}
