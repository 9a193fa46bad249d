// Package starter writes a project: questions, documents, a project file, and a workflow that gates
// pull requests. The questions are an example, or are made from the user's documents without a
// model.
package starter

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"evalctl/harness/dataset"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/internal/redact"
)

// The files of a project, relative to its folder.
const (
	questionsFile = "questions.jsonl"
	corpusFolder  = "questions.corpus"
	projectFile   = "evalctl.yaml"
	workflowFile  = ".github/workflows/evalctl.yml"
)

//go:embed example evalctl.yaml workflow.yml
var files embed.FS

// Options configure Write.
type Options struct {
	// Dir is the folder of the project. It need not exist.
	Dir string
	// From is a folder with documents to ask about, "" for the example.
	From string
	// Convert converts a page to Markdown. The ending of its name gives its kind, HTML or PDF. why
	// is set if the page cannot be converted. From needs it.
	Convert func(ctx context.Context, name string, data []byte) (markdown, why string, err error)
	// Size limits the questions about the documents. Facts is the number of questions for each kind
	// of planted fact.
	Size, Facts int
	// Secrets must not be asked about.
	Secrets []redact.Secret
	// Seed seeds the selection of questions and the planted facts.
	Seed uint64
}

// Project describes a written project.
type Project struct {
	// Files are the paths of the files and folders.
	Files []string
	// Workflows is the folder where the workflow belongs, "" if it is there or in no repository.
	Workflows string
	// Documents is the number of documents.
	Documents int
	LeftOut   []LeftOut
	// Secrets are sentences that were left out.
	Secrets Secrets
	// Found is the number of questions about the documents, and Planted the number of questions
	// about planted facts.
	Found, Planted int
}

// Write writes a project. It never overwrites: the error names every file that exists. A folder
// without documents, or without a sentence to ask about, is an error before anything is written.
func Write(ctx context.Context, o Options) (*Project, error) {
	p, paths := &Project{}, map[string]string{}
	var exist []error
	for _, name := range []string{questionsFile, corpusFolder, projectFile, workflowFile} {
		paths[name] = filepath.Join(o.Dir, filepath.FromSlash(name))
		if _, err := os.Stat(filepath.Dir(paths[name])); !errors.Is(err, fs.ErrNotExist) {
			exist = append(exist, atomicfile.CheckNew(paths[name]))
		}
		p.Files = append(p.Files, paths[name])
	}
	if err := errors.Join(exist...); err != nil {
		return nil, err
	}
	var content func() error
	if o.From == "" {
		content = func() error { return copyExample(o.Dir) }
	} else {
		docs, questions, err := p.make(ctx, o)
		if err != nil {
			return nil, err
		}
		content = func() error { return write(ctx, paths, docs, header(o), questions) }
	}
	workflow, err := p.workflow(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(paths[workflowFile]), 0o755); err != nil {
		return nil, err
	}
	if err := content(); err != nil {
		return nil, err
	}
	return p, errors.Join(copyFile("evalctl.yaml", paths[projectFile]), atomicfile.WriteData(paths[workflowFile], 0o644, workflow))
}

// workflow returns the workflow of a project, with its folder in the repository, and sets Workflows.
func (p *Project) workflow(dir string) ([]byte, error) {
	data, err := files.ReadFile("workflow.yml")
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root := repository(folder)
	if root == "" || root == folder {
		return data, nil
	}
	p.Workflows = filepath.Join(root, filepath.FromSlash(path.Dir(workflowFile)))
	rel, err := filepath.Rel(root, folder)
	if err != nil {
		return nil, err
	}
	name, _ := json.Marshal(filepath.ToSlash(rel)) // which is YAML too
	return bytes.Replace(data, []byte("PROJECT: . #"), fmt.Appendf(nil, "PROJECT: %s #", name), 1), nil
}

// repository returns the root of the git repository around a folder, "" if there is none. The folder
// need not exist.
func repository(folder string) string {
	for root := folder; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			return root
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}

// make creates the questions.
func (p *Project) make(ctx context.Context, o Options) ([]dataset.Doc, []dataset.Question, error) {
	docs, leftOut, err := documents(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	all, err := newCorpus(ctx, docs)
	if err != nil {
		return nil, nil, err
	}
	all.known = redact.New(o.Secrets...)
	found, err := all.ask(ctx, docs, o)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(found) == 0 && all.gapped > 0:
		return nil, nil, fmt.Errorf("%s: no gap has one answer, because other sentences are alike around it (%s with a name, number, "+
			"date or code that occurs once): write the questions yourself, beginning with evalctl init", o.From, figure.Count(all.gapped, "sentence"))
	case len(found) == 0 && all.secrets.Sentences > 0:
		return nil, nil, fmt.Errorf("%s: every sentence to ask about may have a password or a key (%s): write the questions yourself, "+
			"beginning with evalctl init", o.From, figure.Count(all.secrets.Sentences, "sentence"))
	case len(found) == 0:
		return nil, nil, fmt.Errorf("%s: no sentence of %d to %d words with spaces between them has a name, number, date or code "+
			"that occurs once in %s: write the questions yourself, beginning with evalctl init",
			o.From, minWords, maxWords, figure.Count(len(docs), "document"))
	}
	planted := all.plant(o)
	p.Secrets = all.secrets
	p.Documents, p.LeftOut, p.Found, p.Planted = len(docs), leftOut, len(found), len(planted)
	return docs, append(found, planted...), nil
}

func copyExample(dir string) error {
	example, err := fs.Sub(files, "example")
	if err == nil {
		err = os.CopyFS(dir, example)
	}
	if err != nil {
		return fmt.Errorf("write the example: %w", err)
	}
	return nil
}

func copyFile(name, path string) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	return atomicfile.WriteData(path, 0o644, data)
}

// write writes the documents and then the questions. If ctx ends before the questions, it removes
// the documents, because the next Write refuses what exists.
func write(ctx context.Context, paths map[string]string, docs []dataset.Doc, header string, questions []dataset.Question) error {
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, os.RemoveAll(paths[corpusFolder]))
		}
		path := filepath.Join(paths[corpusFolder], filepath.FromSlash(d.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := atomicfile.WriteData(path, 0o644, d.Data); err != nil {
			return err
		}
	}
	return atomicfile.Write(paths[questionsFile], 0o644, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if _, err := out.WriteString(header); err != nil {
			return err
		}
		for _, q := range questions {
			if err := enc.Encode(q); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// header returns the comment at the start of the questions.
func header(o Options) string {
	return fmt.Sprintf(`# Questions about the documents in %s, and planted facts, made by evalctl init --from with --seed %d.
#
# They show whether a memory finds what it was given, keeps what is newest, and forgets what was
# deleted. The gaps have the words of the documents, so they do not show how well it finds what people
# ask in other words: add questions of your users.
`, corpusFolder, o.Seed)
}
