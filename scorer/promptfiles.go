package scorer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/internal/inputfile"
)

// maxPromptFile limits the size of a prompt file in bytes.
const maxPromptFile = 64 << 10

// LoadPrompts returns ReplayPrompts with system prompts replaced by files in dir: <type>.txt
// replaces the one for questions of that type, under the name "file:<type>". A type without a file
// keeps its prompts. The user message and the required form of the reply stay those of
// ReplayPrompts.
//
// LoadPrompts returns an error with the path for a file with another name, for one that is empty,
// not UTF-8 or larger than 64 KiB, and for a folder without files.
func LoadPrompts(dir string) (PromptSet, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the judge's prompts: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("read the judge's prompts: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s: no prompts: name them %s", dir, promptFileNames())
	}
	set := ReplayPrompts()
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		t, isText := strings.CutSuffix(e.Name(), ".txt")
		if !isText || !slices.Contains(types, t) {
			return nil, fmt.Errorf("%s: not a prompt of the judge: the files are %s", path, promptFileNames())
		}
		text, err := readPrompt(root, e.Name())
		if err != nil {
			return nil, err
		}
		p := set[t]
		p.Name, p.System = "file:"+t, text
		set[t] = p
	}
	return set, nil
}

func promptFileNames() string {
	return strings.Join(types, ".txt, ") + ".txt"
}

func readPrompt(root *os.Root, name string) (string, error) {
	path := filepath.Join(root.Name(), name)
	text, err := inputfile.ReadIn(root, name, maxPromptFile)
	if errors.Is(err, inputfile.ErrTooLarge) {
		return "", fmt.Errorf("%s: larger than %d KiB; a prompt is sent with every question", path, maxPromptFile>>10)
	}
	if err != nil {
		return "", fmt.Errorf("read the judge's prompts: %w", err)
	}
	text = inputfile.Text(text)
	switch {
	case !utf8.Valid(text):
		err = errors.New("not valid UTF-8; save the file as UTF-8")
	case len(bytes.TrimSpace(text)) == 0:
		err = errors.New("empty; delete it to use the built-in prompt")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(bytes.TrimSpace(text)), nil
}
