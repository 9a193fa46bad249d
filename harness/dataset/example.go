package dataset

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"evalctl/internal/atomicfile"
)

//go:embed example
var example embed.FS

// WriteExample writes a small dataset and its corpus, with comments that explain every field, to a
// folder, and returns their paths. It replaces nothing.
func WriteExample(dir string) (questions, corpus string, err error) {
	questions, corpus = filepath.Join(dir, "questions.jsonl"), filepath.Join(dir, "questions.corpus")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	if err := errors.Join(atomicfile.CheckNew(questions), atomicfile.CheckNew(corpus)); err != nil {
		return "", "", err
	}
	files, err := fs.Sub(example, "example")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		err = fmt.Errorf("write the example: %w", err)
	}
	return questions, corpus, err
}
