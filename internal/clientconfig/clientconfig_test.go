package clientconfig

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

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
		var read map[string]map[string]struct{ Args []string }
		unmarshal := json.Unmarshal
		if c.section == "" {
			unmarshal = toml.Unmarshal
		}
		if err := unmarshal([]byte(text), &read); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		for _, servers := range read {
			if !slices.Equal(servers["memory"].Args, args) {
				t.Errorf("%s: %q", c.ID, servers)
			}
		}
	}
	goldentest.Compare(t, "testdata/snippets.golden", got.String())
}
