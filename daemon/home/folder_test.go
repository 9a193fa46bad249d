package home_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"evalctl/daemon/home"
)

// TestFolder lists the default home on each system.
func TestFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of other systems")
	}
	for _, tt := range []struct{ goos, variables, want string }{
		{"linux", "HOME=/u", "/u/.local/share/evalctl"},
		{"linux", "HOME=/u XDG_DATA_HOME=/d", "/d/evalctl"},
		{"linux", "HOME=/u XDG_DATA_HOME=d", "/u/.local/share/evalctl"},
		{"darwin", "HOME=/u", "/u/Library/Application Support/evalctl"},
		{"windows", "LocalAppData=/l", "/l/evalctl"},
	} {
		env := func(name string) string {
			for _, v := range strings.Fields(tt.variables) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got, err := home.Folder("", tt.goos, env); err != nil || got != tt.want {
			t.Errorf("%s %s: got %s, %v, want %s", tt.goos, tt.variables, got, err, tt.want)
		}
	}
	none := func(string) string { return "" }
	if _, err := home.Folder("", "windows", none); err == nil || err.Error() != "no folder for data: set LocalAppData, or --home" {
		t.Errorf("no folder: %v", err)
	}
	t.Chdir(t.TempDir())
	if got, err := home.Folder("brains", "linux", none); err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "brains" {
		t.Errorf("a relative one: %s, %v", got, err)
	}
}
