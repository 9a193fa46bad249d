package requirements

import (
	"context"
)

func ownToolChecks() []check {
	return []check{
		should("mcp-reflect-again", "3", "memory_reflect of a session that ended returns the same ended_at.",
			preparing("memory_extract", inSession("Hello.", "Hello, how can I help?")), reflectAgain),
		should("mcp-tool-unknown", "4.1", "A call of a tool that does not exist is an error.",
			calling("memory_forget_everything", object{}, fails)),
		should("mcp-ingest-url-private", "4.1", "memory_ingest_url of the metadata service of a cloud is an error.",
			calling("memory_ingest_url", object{"url": "http://169.254.169.254/latest/meta-data/"}, fails)),
	}
}

// ownToolFileChecks need a server that can read files.
func ownToolFileChecks() []check {
	return []check{
		should("mcp-ingest-file-missing", "4.1", "memory_ingest_file of a file that does not exist is an error.",
			calling("memory_ingest_file", object{"path": "/conformance/no/such/file.md"}, fails)),
	}
}

func reflectAgain(ctx context.Context, c *client) error {
	var first any
	args := object{"session_id": session}
	return c.run(ctx,
		calling("memory_reflect", args, func(r *reply) error { first = r.payload["ended_at"]; return r.given() }),
		calling("memory_reflect", args, func(r *reply) error {
			if err := succeeds(r); err != nil || first == nil {
				return err
			}
			return matchFields(r.payload, map[string]matcher{"ended_at": equals(first)})
		}))
}
