package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
)

// CheckFolders rejects a worker's folders for files and for the cache that no replay could use.
// Either may be empty.
func CheckFolders(files, cache string) error {
	if files != "" {
		if info, err := os.Stat(files); err != nil {
			return fmt.Errorf("--files: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--files %s is a file; give the folder with the files of replays", files)
		}
	}
	if cache == "" {
		return nil
	}
	return CheckFolder(cache)
}

// CheckFolder creates the cache folder if missing, and returns an error if files cannot be created
// in it.
func CheckFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(dir, ".probe-*")
	}
	if err != nil {
		return fmt.Errorf("cache folder: %w; give another one with --cache-dir", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// relocate adapts the options of a replay that began on another machine: missing files are looked
// up by name in dir, which may be empty.
func relocate(options map[string]any, dir string) error {
	for _, name := range []string{"dataset", "corpus", "errata", "ids", "sample-ids", "exclude-ids", "judge-prompts", "prices"} {
		path, ok := options[name].(string)
		if !ok || path == "" || name == "corpus" && path == dataset.NoCorpus {
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

// locate returns the local path of a flag's file.
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
