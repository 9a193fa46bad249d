package mcpserver

import (
	"context"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func reflect(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(_ string, b *client.Brain) (reply, error) {
		r, err := b.Reflect(ctx, c.args.text("session_id"))
		if err != nil {
			return reply{}, err
		}
		return reply{r, reflectText(r)}, nil
	})
}

// reflectText has the outcome, whether to record an episode, its path, and when the session ended.
func reflectText(r protocol.ReflectResponse) string {
	text := "reflection " + r.ReflectionStatus
	if o := r.Reflection; o != nil {
		text += fmt.Sprintf("\noutcome: %s\nrecord episode: %t\npath: %s", o.Outcome, o.ShouldRecordEpisode, o.Path)
	}
	if r.EndedAt != "" {
		text += "\nended at: " + r.EndedAt
	}
	return text
}
