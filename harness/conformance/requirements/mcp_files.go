package requirements

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"evalctl/daemon/protocol"
)

// mcpFileChecks pass files on this machine to the server.
func mcpFileChecks() []check {
	ingestOf := func(size int, args object, judge func(*reply) error) step {
		return func(ctx context.Context, c *client) error {
			dir, err := os.MkdirTemp("", "evalctl-conformance-*")
			if err != nil {
				return unjudgedError{ReasonSetup, err}
			}
			defer func() { _ = os.RemoveAll(dir) }()
			sent := maps.Clone(args)
			sent["path"] = filepath.Join(dir, "gazelle.md")
			if err := writeSparse(filepath.Join(dir, "gazelle.md"), "# Gazelle\n\nThe gazelle outruns the train.\n", int64(size)); err != nil {
				return unjudgedError{ReasonSetup, err}
			}
			return calling("memory_ingest_file", sent, readingFiles(judge))(ctx, c)
		}
	}
	return []check{
		must("mcp-ingest-file-called", "4.1", "memory_ingest_file can be called, and returns structured content and a text.",
			ingestOf(0, object{}, hasContentAndText)),
		must("mcp-ingest-file-shape", "4.1", "The status of memory_ingest_file is queued or ingested, and it returns a path.",
			ingestOf(0, object{}, payloadHas(map[string]matcher{
				"status": matchesPattern(`^(queued|ingested)$`), "path": isNonEmptyString}))),
		should("mcp-ingest-file-found", "4.1", "memory_search finds the text of an ingested file.",
			setup(ingestOf(0, object{}, succeeds)), awaitHit("gazelle")),
		must("mcp-ingest-file-too-large", "7.3", "The code of memory_ingest_file for a file above 25 MiB is file_too_large.",
			ingestOf(protocol.MaxIngestBytes+1, object{}, failsWith(protocol.CodeFileTooLarge))),
		must("mcp-ingest-file-no-brain", "7.3",
			"The code of memory_ingest_file in a brain that does not exist is no_brain.",
			ingestOf(0, object{"brain": "conformance-no-such-brain"}, failsWith(protocol.CodeNoBrain))),
	}
}

// readingFiles judges the reply of a server that reads files. One that says that it reads none, as
// evalctl serve mcp without --ingest-files, shows nothing.
func readingFiles(judge func(*reply) error) func(*reply) error {
	return func(r *reply) error {
		if r.hasCode(protocol.CodeLocalFiles) {
			return unjudgedError{ReasonNeed, fmt.Errorf("the server reads no files of its machine (%s): "+
				"start it so that it may read files below %s", protocol.CodeLocalFiles, os.TempDir())}
		}
		return judge(r)
	}
}

// writeSparse writes a file that begins with text and has at least size bytes. The rest takes no
// space on the disk.
func writeSparse(name, text string, size int64) error {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil || size == 0 {
		return err
	}
	return os.Truncate(name, size)
}
