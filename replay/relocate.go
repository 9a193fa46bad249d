package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Relocate changes the options of a replay that was begun on another machine: files that are not
// here are searched by their names in dir, which may be empty.
func Relocate(options map[string]any, dir string) error {
	for _, name := range []string{"dataset", "corpus", "errata", "ids", "sample-ids", "exclude-ids", "judge-prompts", "prices"} {
		path, ok := options[name].(string)
		if !ok || path == "" {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if dir == "" {
			return fmt.Errorf("--%s %s is not on this machine; copy it, and give its folder with --files", name, path)
		}
		base := path[strings.LastIndexAny(path, `/\`)+1:]
		here := filepath.Join(dir, base)
		if _, err := os.Stat(here); err != nil {
			return fmt.Errorf("--%s %s is not on this machine, and %s is not in %s; copy it there", name, path, base, dir)
		}
		options[name] = here
	}
	return nil
}
