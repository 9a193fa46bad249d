package mapping

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/launch"
)

// TestPropose checks that a proposal, which is made from names, schemas and replies alone, works.
func TestPropose(t *testing.T) {
	t.Parallel()
	for flaw, c := range map[string]struct {
		paths []string // of what is found
		query Query
	}{
		"none":       {[]string{"a/ada.md", "bob.md"}, Words},
		"own ids":    {[]string{"a/ada.md", "bob.md"}, Words},
		"structured": {[]string{"a/ada.md", "bob.md"}, Words},
		"plain text": {[]string{""}, Words},
		"noisy":      {[]string{"a/ada.md", "bob.md"}, Words},
	} {
		t.Run(flaw, func(t *testing.T) {
			dir := t.TempDir()
			profile := stubProfile(flaw)
			profile.Env = []string{"HOME_DIR={home}"}
			config := Config{Profile: profile, Launch: launch.Options{Watchdog: watchdog, Home: filepath.Join(dir, "home"), LogPath: filepath.Join(dir, "log")}}
			if err := os.Mkdir(config.Launch.Home, 0o700); err != nil {
				t.Fatal(err)
			}
			s, err := Examine(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p, err := propose(s.Name, s.Tools)
			if err != nil {
				t.Fatal(err)
			}
			p.inHome(map[string]string{"HOME_DIR": "{home}"})
			var shown strings.Builder
			if err := p.try(t.Context(), s, "zqmark", &shown); err != nil {
				t.Fatalf("%v\n%s", err, shown.String())
			}
			for _, part := range []string{"remember\n  call   add {", "search\n  call   find {", "delete\n  call   forget {"} {
				if !strings.Contains(shown.String(), part) {
					t.Errorf("%q was not shown:\n%s", part, shown.String())
				}
			}
			if data, err := os.ReadFile(filepath.Join(config.Launch.Home, "notes.json")); err != nil || strings.Contains(string(data), "zqmark") {
				t.Errorf("left behind: %s, %v", data, err)
			}
			text, err := p.Mapping()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			m := parsed(t, string(text))
			if m.Query != c.query || m.Brains != PerProcess {
				t.Errorf("query %s, brains %s", m.Query, m.Brains)
			}
			used := mustOpenStub(t, flaw, string(text))
			st := create(t, used, "b")
			if err := st.Write(t.Context(), "b", corpus, 1); err != nil {
				t.Fatal(err)
			}
			got, err := st.Search(t.Context(), "b", "lisbon", 5)
			if err != nil || len(got) != len(c.paths) {
				t.Fatalf("found %v, %v with\n%s", got, err, text)
			}
			for i, path := range c.paths {
				if got[i].Path != path || !strings.Contains(got[i].Text, "Lisbon") {
					t.Errorf("found %+v with\n%s", got[i], text)
				}
			}
		})
	}
}

func TestProposeWithoutTools(t *testing.T) {
	_, err := propose("x", []mcpclient.Tool{{Name: "weather", InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}})
	if err == nil || !strings.Contains(err.Error(), "none of the tools remembers a text: weather") {
		t.Errorf("got %v", err)
	}
	p, err := propose("Some Server", []mcpclient.Tool{
		{Name: "addMemory", InputSchema: []byte(`{"type":"object","properties":{"content":{"type":"string"},"userId":{"type":"string"},"kind":{"enum":["fact","event"]}},"required":["content","kind"]}`)},
		{Name: "reset_all", InputSchema: []byte(`{"type":"object"}`)},
	})
	if err != nil || p.Name != "some-server" || p.Brains != ByArgument || p.Remember.Arguments["kind"] != "fact" || len(p.Notes) != 2 {
		t.Errorf("got %+v, %v", p, err)
	}
}
