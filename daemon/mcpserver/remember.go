package mcpserver

import (
	"context"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func remember(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		s, err := c.store(ctx, id, b, protocol.CreateDocument{
			Content: c.args.text("content"), Title: c.args.text("title"),
			Path: c.args.text("path"), Tags: c.args.texts("tags"),
		})
		return reply{s.record, s.text}, err
	})
}
