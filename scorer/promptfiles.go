package scorer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxPromptFile is the largest file of a prompt, in bytes.
const maxPromptFile = 64 << 10

// LoadPrompts returns ReplayPrompts with the system prompts in dir in place of its own: <type>.txt
// is the one for questions of that type, under the name "file:<type>". A type without a file keeps
// its prompts. The user message stays a JSON object with the fields that ReplayPrompts describes,
// and the reply must have the same form as theirs.
//
// LoadPrompts returns an error with the path for a file of any other name, one that is empty, not
// UTF-8 or larger than 64 KiB, and for a folder without files.
func LoadPrompts(dir string) (PromptSet, error) {
	entries, err := os.ReadDir(dir)
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
		text, err := readPrompt(path)
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

func readPrompt(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the judge's prompts: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the judge's prompts: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPromptFile+1))
	if err != nil {
		return "", fmt.Errorf("read the judge's prompts: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	switch {
	case len(text) > maxPromptFile:
		err = fmt.Errorf("larger than %d KiB; a prompt is sent with every question", maxPromptFile>>10)
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
