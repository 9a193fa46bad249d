package mcpserver

import (
	"context"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func remember(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(_ string, b *client.Brain) (reply, error) {
		record, err := b.CreateDocument(ctx, protocol.CreateDocument{
			Content: c.args.text("content"), Title: c.args.text("title"),
			Path: c.args.text("path"), Tags: c.args.texts("tags"),
		})
		if err != nil {
			return reply{}, err
		}
		return reply{record, "Stored " + recordLine(record)}, nil
	})
}

func recordLine(r protocol.DocumentRecord) string {
	return fmt.Sprintf("%s (%q, %d bytes, id %s)", r.Path, r.Title, r.ByteSize, r.ID)
}
