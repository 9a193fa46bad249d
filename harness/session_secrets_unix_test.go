//go:build unix

package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness"
	"evalctl/harness/mapping"
)

// TestSessionHidesVariables: what a mapping takes from the environment for a header or a
// credential is in no log and in no error, whatever the variables are called. What else it takes
// is shown: replies may contain it for other reasons.
func TestSessionHidesVariables(t *testing.T) {
	const work, shelf = "sk-of-the-work", "shelf-of-the-work"
	env := map[string]string{"WORK": work, "SHELF": shelf, "READER": "gpt-4o-mini"}
	for transport, calls := range map[string]string{
		"mcp": `remember: {tool: save, arguments: {text: "{text}"}}`,
		"http": `headers: {Shelf: "{env:SHELF}"}
remember: {path: /notes, body: {text: "{text}"}}`,
	} {
		t.Run(transport, func(t *testing.T) {
			m, err := mapping.Parse("m.yaml", []byte("name: m\ntransport: "+transport+`
env: {API_KEY: "Bearer {env:WORK}", MODEL: "{env:READER}"}
`+calls+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			c, _ := service(t)
			c.Described = &harness.Description{Mapping: m, Env: func(name string) string { return env[name] }}
			c.Profile.Command = []string{"sh", "-c", `echo "$MODEL with $API_KEY, on ` + shelf + `, {port}" >&2; exit 3`}
			if transport == "mcp" {
				c.Profile.Command[2] = strings.ReplaceAll(c.Profile.Command[2], ", {port}", "")
			}
			c.Launch.Home, c.Launch.LogPath = t.TempDir(), filepath.Join(t.TempDir(), "log")
			s, err := harness.Open(t.Context(), c)
			if err == nil {
				t.Fatal("it opened", s.Close())
			}
			log, failed := os.ReadFile(c.Launch.LogPath)
			if failed != nil {
				t.Fatal(failed)
			}
			for _, text := range []string{string(log), err.Error()} {
				if !strings.Contains(text, "gpt-4o-mini with Bearer [WORK]") || strings.Contains(text, work) || transport == "http" && strings.Contains(text, shelf) {
					t.Errorf("got %s", text)
				}
			}
		})
	}
}
