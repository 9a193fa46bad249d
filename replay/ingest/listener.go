package ingest

import (
	"context"
	"fmt"
	"time"

	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/replay/source"
)

// tell sends the sessions of a haystack, one after the other, to a service that remembers
// conversations by its own rules. It waits until a search finds one of them.
func (f *filler) tell(ctx context.Context, remote *seed.Brain, b brain, h source.Haystack) error {
	listener, err := target.Find[target.Listener](f.Service, target.Tell)
	if err != nil {
		return fmt.Errorf("%s takes no sessions of messages: %w; use the ingest mode %s", f.Service.URL(), err, Bulk)
	}
	told := false
	for _, one := range h.Sessions {
		if c := conversationOf(one); len(c.Turns) > 0 {
			if err := listener.Tell(ctx, remote.ID(), c); err != nil {
				return err
			}
			told = true
		}
		f.progress(1)
	}
	if !told {
		return nil
	}
	return f.await(ctx, remote, b, h, "does the target search what it remembers?")
}

// conversationOf returns a session as it is sent to a service. It does not reveal which sessions
// are gold.
func conversationOf(s source.Session) target.Conversation {
	c := target.Conversation{ID: s.ID, Path: s.Path, Title: s.Title, Date: s.Date}
	for _, m := range messagesOf(s) {
		turn := target.Turn{Role: m.role, Name: m.name, Text: m.text}
		if !m.at.IsZero() {
			turn.Date = m.at.Format(time.RFC3339)
		}
		c.Turns = append(c.Turns, turn)
	}
	return c
}
