package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// segmentWriter collects the messages of one segment, so that each file is written once.
type segmentWriter struct {
	state *sessionState
	now   time.Time

	lines []byte
	turns strings.Builder
	date  time.Time // of the first of the collected messages
}

// add adds a message to the last segment. A segment ends when it is full, and at the end of a day,
// so that the date of its transcript holds for all its messages.
func (w *segmentWriter) add(ctx context.Context, b *store.Batch, m message) error {
	line, err := encodeMessages([]message{m})
	if err != nil {
		return err
	}
	day := m.At.Format(time.DateOnly)
	full := w.state.SegmentBytes > 0 && w.state.SegmentBytes+len(line) > maxSegment
	if w.state.Segment == 0 || full || day != w.state.Day {
		if err := w.flush(ctx, b); err != nil {
			return err
		}
		w.state.Segment++
		w.state.SegmentBytes, w.state.Day = 0, day
	}
	if len(w.lines) == 0 {
		w.date = m.At
	}
	w.state.SegmentBytes += len(line)
	w.lines = append(w.lines, line...)
	turn := protocol.SessionMessage{Role: m.Role, Name: m.Name, Content: m.Content}
	w.turns.WriteString(protocol.Transcript(turn))
	return nil
}

// flush writes the collected messages.
func (w *segmentWriter) flush(ctx context.Context, b *store.Batch) error {
	if len(w.lines) == 0 {
		return nil
	}
	session, segment := w.state.ID, w.state.Segment
	if err := b.Append(ctx, messagesPath(session, segment), w.lines); err != nil {
		return err
	}
	text, path := w.turns.String(), transcriptPath(session, segment)
	exists, err := b.Exists(ctx, path)
	if err != nil {
		return err
	}
	if !exists {
		header, err := transcriptHeader(session, w.date, w.now)
		if err != nil {
			return err
		}
		text = header + text
	}
	w.lines = nil
	w.turns.Reset()
	return b.Append(ctx, path, []byte(text))
}

// transcriptHeader returns the front matter of the transcript of a segment. date is the time of its
// first message.
func transcriptHeader(session string, date, now time.Time) (string, error) {
	text, err := frontmatter.Set("", frontmatter.Fields{
		Title: "Session " + session, Date: date, Created: now,
		Metadata: map[string]any{"session_id": session},
	})
	if err != nil {
		return "", fmt.Errorf("session_id %.64q: %w", session, err)
	}
	return text, nil
}

// readSegment returns the messages of a segment. A deleted file is store.ErrNotFound.
func readSegment(ctx context.Context, r documentReader, session string, segment int) ([]message, error) {
	path := messagesPath(session, segment)
	data, err := r.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("messages of session %q: %w", session, err)
	}
	return decodeMessages(path, data)
}

// segmentsAtOnce is how many segments are read together. The last two have enough for most callers,
// unless the ends of days have made them short.
const segmentsAtOnce = 4

// readBackwards calls use with the messages file of each segment, the last one first, as long as
// use returns more. A missing file is store.ErrDamaged.
func readBackwards(
	ctx context.Context, r documentReader, state sessionState, use func(path string, data []byte) (more bool, err error),
) error {
	for n := state.Segment; n > 0; {
		var paths []string
		for i := range min(n, segmentsAtOnce) {
			paths = append(paths, messagesPath(state.ID, n-i))
		}
		docs, err := r.ReadMany(ctx, filesAt(paths...))
		if err != nil {
			return err
		}
		for _, d := range docs {
			if !d.Exists {
				return store.Damaged(nil, "%s is missing: restore the file, or delete the folder of session %q", d.Path, state.ID)
			}
			if d.Err != nil {
				return d.Err
			}
			if more, err := use(d.Path, []byte(d.Content)); err != nil || !more {
				return err
			}
		}
		n -= len(docs)
	}
	return nil
}
