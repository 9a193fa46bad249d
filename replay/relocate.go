package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/judging"
)

// Relocate changes the options of a replay that was begun on another machine: files that are not
// here are searched by their names in dir, which may be empty.
func Relocate(options map[string]any, dir string) error {
	for _, name := range []string{"dataset", "corpus", "errata", "ids", "sample-ids", "exclude-ids", "judge-prompts", "prices"} {
		path, ok := options[name].(string)
		if !ok || path == "" {
			continue
		}
		here, err := locate(name, path, dir)
		if err != nil {
			return err
		}
		options[name] = here
	}
	recipes, _ := options["judge-panel"].([]any)
	for i, r := range recipes {
		path, ok := r.(string)
		if !ok || !judging.IsRecipeFile(path) {
			continue
		}
		here, err := locate("judge-panel", path, dir)
		if err != nil {
			return err
		}
		recipes[i] = here
	}
	return nil
}

// locate returns where a file of a flag is on this machine.
func locate(flag, path, dir string) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if dir == "" {
		return "", fmt.Errorf("--%s %s is not on this machine; copy it, and give its folder with --files", flag, path)
	}
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	here := filepath.Join(dir, base)
	if _, err := os.Stat(here); err != nil {
		return "", fmt.Errorf("--%s %s is not on this machine, and %s is not in %s; copy it there", flag, path, base, dir)
	}
	return here, nil
}
