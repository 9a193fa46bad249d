package dataset

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"evalctl/internal/atomicfile"
)

//go:embed example
var example embed.FS

// The names of what WriteExample writes.
const (
	ExampleQuestions = "questions.jsonl"
	ExampleCorpus    = "questions.corpus"
)

// WriteExample writes a small dataset and its corpus, with comments that explain every field, to a
// folder. It replaces files of the same names.
func WriteExample(dir string) error {
	files, err := fs.Sub(example, "example")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return atomicfile.WriteData(to, 0o644, data)
	})
}
