package clientconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"evalctl/internal/goldentest"
)

// TestClientFiles lists the file of each client on each system.
func TestClientFiles(t *testing.T) {
	unix := func(k string) string { return map[string]string{"HOME": "/home/u"}[k] }
	moved := func(k string) string {
		return map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "CODEX_HOME": "/codex"}[k]
	}
	windows := func(k string) string {
		return map[string]string{"USERPROFILE": `C:/Users/u`, "APPDATA": `C:/Users/u/AppData/Roaming`}[k]
	}
	var got []string
	for _, system := range []struct {
		goos string
		env  func(string) string
	}{{"linux", unix}, {"linux", moved}, {"darwin", unix}, {"windows", windows}} {
		where, err := FindPlaces(system.goos, system.env)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range clients {
			got = append(got, fmt.Sprintf("%s %s %s", system.goos, c.ID, filepath.ToSlash(c.File(where))))
		}
	}
	goldentest.Compare(t, "testdata/files.golden", strings.Join(got, "\n")+"\n")
	if _, err := FindPlaces("linux", func(string) string { return "" }); err == nil {
		t.Error("no home: no error")
	}
}

// TestClientSnippets shows the configuration of each client.
func TestClientSnippets(t *testing.T) {
	args := []string{"mcp", "--home", "/a <b> & \"c\"\u007f"}
	var got strings.Builder
	for _, c := range clients {
		entry := c.Entry(`C:\Program Files\evalctl.exe`, args, []string{"SVC_TOKEN"})
		text := c.Snippet("memory", entry)
		fmt.Fprintf(&got, "== %s\n%s", c.ID, text)
		again, err := c.withEntry([]byte(text), "memory", entry)
		if err != nil || string(again) != text {
			t.Errorf("%s: the second time: %q, %v", c.ID, again, err)
		}
	}
	goldentest.Compare(t, "testdata/snippets.golden", got.String())
}

// TestCodexEntry adds an entry to TOML files.
func TestCodexEntry(t *testing.T) {
	codex, err := Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	entry := Entry{Command: "/bin/evalctl", Args: []string{"mcp"}}
	const table = "[mcp_servers.evalctl]\ncommand = \"/bin/evalctl\"\nargs = [\"mcp\"]\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", table},
		{"other values", "model = \"m\" # mine\n", "model = \"m\" # mine\n\n" + table},
		{"no line feed", "a = 1", "a = 1\n\n" + table},
		{"another server", "[mcp_servers.other]\ncommand = \"x\"\n", "[mcp_servers.other]\ncommand = \"x\"\n\n" + table},
		{"dotted keys", "mcp_servers.other.command = \"x\"\n", "mcp_servers.other.command = \"x\"\n\n" + table},
		{"windows", "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(table, "\n", "\r\n")},
		{"in order", table, table},
		{"more than wanted", table + "enabled = false\n", table + "enabled = false\n"},
		{"otherwise written", "[mcp_servers]\n[mcp_servers.'evalctl']\nargs = [ 'mcp' ]\ncommand='/bin/evalctl'\n",
			"[mcp_servers]\n[mcp_servers.'evalctl']\nargs = [ 'mcp' ]\ncommand='/bin/evalctl'\n"},
	} {
		got, err := codex.withEntry([]byte(c.text), "evalctl", entry)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"[mcp_servers.evalctl]\ncommand = \"other\"\n", "another entry"},
		{"mcp_servers.evalctl = 1\n", "another entry"},
		{"mcp_servers = 1\n", "not a table"},
		{"mcp_servers = {}\n", "cannot be appended"},
		{"a = 1\n\na = 2\n", "line 3: not valid TOML"},
		{"{}", "not valid TOML"},
		{"\x00", "not valid TOML"},
	} {
		got, err := codex.withEntry([]byte(c.text), "evalctl", entry)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %q, %v; want %s", c.text, got, err, c.want)
		}
	}
}

// TestEntryWithVariables checks that an entry to which its user has added variables is kept.
func TestEntryWithVariables(t *testing.T) {
	cursor, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	entry := Entry{Command: "/bin/evalctl", Args: []string{"mcp"}}
	text := `{"mcpServers": {"evalctl": {"env": {"SVC_TOKEN": "t"}, "args": ["mcp"], "command": "/bin/evalctl"}}}`
	if got, err := cursor.withEntry([]byte(text), "evalctl", entry); string(got) != text || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	entry.Args = append(entry.Args, "--degrade")
	if _, err := cursor.withEntry([]byte(text), "evalctl", entry); !errors.Is(err, ErrDiffers) {
		t.Errorf("other arguments: %v", err)
	}
}

// TestReplace replaces files in the places where configurations are found.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	replace := func(path, text string) (string, error) {
		t.Helper()
		c, err := readFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return c.replace([]byte(text))
	}
	if backup, err := replace(path, "new"); err != nil || backup != "" {
		t.Fatalf("new file: %q, %v", backup, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("new file: %v, %v", info, err)
	}

	real := write("dotfiles.json", "old", 0o640)
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	backup, err := replace(link, "newer")
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != real {
		t.Errorf("the link is now %q, %v", target, err)
	}
	for file, want := range map[string]string{real: "newer", backup: "old"} {
		data, err := os.ReadFile(file)
		info, statErr := os.Stat(file)
		if err != nil || statErr != nil || string(data) != want || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q %v, %v", file, data, info.Mode(), err)
		}
	}

	changing, err := readFile(real)
	if err != nil {
		t.Fatal(err)
	}
	write("dotfiles.json", "by the client", 0o640)
	if _, err := changing.replace([]byte("lost update")); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("changed meanwhile: %v", err)
	}
	if data, err := os.ReadFile(real); string(data) != "by the client" {
		t.Errorf("changed meanwhile: %q, %v", data, err)
	}
	if _, err := replace(write("fixed.json", "old", 0o440), "new"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("read-only: %v", err)
	}
	if _, err := replace(filepath.Join(dir, "none", "mcp.json"), "new"); err == nil || !strings.Contains(err.Error(), "start it once") {
		t.Errorf("no folder: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files: %q, %v", left, err)
	}
}

// TestUnreadableConfig checks files that must not be read or edited.
func TestUnreadableConfig(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.json")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, maxSize+1); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling.json")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Skip(err)
	}
	loop := filepath.Join(dir, "loop.json")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "not a regular file", huge: "at most", dangling: "does not exist", loop: "too many links",
		os.DevNull: "not a regular file", filepath.Join(huge, "mcp.json"): "not a directory",
	} {
		if _, err := readFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
