package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon"
	daemonclient "evalctl/daemon/client"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/mcpserver"
	"evalctl/harness/conformance/requirements"
)

// Variables of a process of this test binary that serves the tools on stdio: the daemon, and the
// old and the new text of what its messages say wrongly.
const (
	stdioDaemon = "CONFORMANCE_TEST_DAEMON"
	stdioEdit   = "CONFORMANCE_TEST_EDIT"
)

// serveStdio serves the tools of the reference daemon in this process, with a defect.
func serveStdio(endpoint, edit string) error {
	api, err := daemonclient.New(endpoint, &daemonclient.Options{})
	if err != nil {
		return err
	}
	defer api.Close()
	files, err := mcpserver.OpenFiles([]string{os.TempDir()})
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	server, err := mcpserver.New(mcpserver.Config{Client: api, Files: files, Version: "test"})
	if err != nil {
		return err
	}
	var out io.Writer = os.Stdout
	if edit != "" {
		out = editor{out, edit}
	}
	return server.ServeStdio(context.Background(), os.Stdin, out)
}

// editor replaces a text in messages.
type editor struct {
	io.Writer
	edit string // "die", or "text of the message ? old -> new"
}

func (e editor) Write(p []byte) (int, error) {
	if e.edit == "die" {
		if bytes.Contains(p, []byte("file_too_large")) {
			os.Exit(3)
		}
		return e.Writer.Write(p)
	}
	condition, edit, _ := strings.Cut(e.edit, " ? ")
	from, to, _ := strings.Cut(edit, " -> ")
	changed := p
	if bytes.Contains(p, []byte(condition)) {
		changed = bytes.ReplaceAll(p, []byte(from), []byte(to))
	}
	if _, err := e.Writer.Write(changed); err != nil {
		return 0, err
	}
	return len(p), nil
}

// toolsOnStdio returns the options of a run of the group mcp only, against a command.
func toolsOnStdio(t *testing.T, edit string) Options {
	t.Helper()
	url := serveConfig(t, daemon.Config{Options: httpapi.Options{}}, unbroken)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		MCP: fmt.Sprintf("stdio:'%s'", self), MCPEnv: []string{stdioDaemon + "=" + url, stdioEdit + "=" + edit},
		Timeout: timeout,
	}
}

// mcpVersion is the newest version that the reference daemon and the client both speak.
const mcpVersion = "2026-07-28"

// The reference tools are kept over stdio, without the daemon's API. The brains remain.
func TestToolsOnStdio(t *testing.T) {
	r := runPatiently(t, toolsOnStdio(t, ""))
	wantAllPass(t, r)
	if r.Count(requirements.GroupMCP, Must, Kept) < 60 || len(r.Groups()) != 1 || len(r.BrainsLeft) == 0 {
		t.Errorf("%d kept in %q, brains left: %q", r.Count(requirements.GroupMCP, Must, Kept), r.Groups(), r.BrainsLeft)
	}
	if r.MCPVersion != mcpVersion {
		t.Errorf("MCP version %q, want %q", r.MCPVersion, mcpVersion)
	}
}

// The checks of files have mutants too: processes whose messages say something else.
func TestMutantsOnStdio(t *testing.T) {
	for _, tt := range []struct {
		edit   string
		broken []string
	}{
		{" ? file_too_large -> payload_too_large", []string{"mcp-ingest-file-too-large"}},
		{` ? "ingested" -> "done"`, []string{"mcp-ingest-file-shape"}},
		{" ? no_brain -> not_found", []string{"mcp-ingest-file-no-brain"}},
		{" ? isError -> wasError", []string{"mcp-ingest-file-too-large", "mcp-ingest-file-no-brain"}},
		{`"ingested" ? structuredContent -> content2`, []string{"mcp-ingest-file-called"}},
		{`"query":"gazelle" ? "hits":[ -> "hits":[],"more":[`, []string{"mcp-ingest-file-found"}},
	} {
		o := toolsOnStdio(t, tt.edit)
		o.Only, o.Timeout, o.within = []string{"mcp-ingest-file-*"}, 3*time.Second, time.Second
		var broken []string
		for _, res := range run(t, o).Results {
			if res.Verdict == Broken {
				broken = append(broken, res.ID)
			}
		}
		for _, id := range tt.broken {
			if !slices.Contains(broken, id) {
				t.Errorf("%s: %s is not broken, but %q", tt.edit, id, broken)
			}
		}
	}
}

// A server that dies ends the run, like a daemon.
func TestToolsDie(t *testing.T) {
	o := toolsOnStdio(t, "die")
	o.Parallel = 1
	r, err := Run(t.Context(), o)
	if err == nil || len(r.Deaths) != 1 || r.Deaths[0].After != "mcp-ingest-file-too-large" || r.Count("", Must, Broken) > 0 {
		t.Errorf("%v, death %+v, %d broken", err, r.Deaths, r.Count("", Must, Broken))
	}
	o.MCP = "stdio:/no/such/command"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), ErrUnusable.Error()) {
		t.Errorf("got %v", err)
	}
}
