package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/report/rows"
	"evalctl/harness/resultfile"
	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// Stdout is the path that means standard output.
const Stdout = "-"

// File is a file that a flag names.
type File struct {
	// Flag is the name of the flag. For a report it is the form: junit, markdown, html, badge, csv,
	// jsonl, metrics or traces.
	Flag, Path string

	arm int // whose page it is, from 1; 0 for the whole document
}

// Files are the files of reports.
type Files []File

// Given returns the files with a path.
func Given(files ...File) Files {
	return slices.DeleteFunc(files, func(f File) bool { return f.Path == "" })
}

// ForArms adds a page for each of several arms. The name of the arm is inserted before the file
// extension.
func (fs Files) ForArms(names []string) Files {
	var all Files
	for _, f := range fs {
		all = append(all, f)
		if f.Flag != "html" || len(names) < 2 {
			continue
		}
		ending := filepath.Ext(f.Path)
		for i, name := range names {
			all = append(all, File{Flag: f.Flag, Path: strings.TrimSuffix(f.Path, ending) + "." + name + ending, arm: i + 1})
		}
	}
	return all
}

// Prepare checks that the reports can be written at the end, and creates their folders. others are
// files that the command reads or writes; a report must not replace them.
func (fs Files) Prepare(others ...File) error {
	if err := fs.distinct(others); err != nil {
		return err
	}
	for _, f := range fs {
		if err := f.writable(); err != nil {
			return f.failed(err)
		}
	}
	return nil
}

// distinct returns an error if two files are the same, or one of them is in others.
func (fs Files) distinct(others []File) error {
	for i, f := range fs {
		for _, other := range slices.Concat(others, fs[:i]) {
			switch {
			case other.Path == "" || other.Path == Stdout || other.Flag == f.Flag:
			case sameFile(f.Path, other.Path):
				return fmt.Errorf("--%s %s is also the file of --%s; name another one", f.Flag, f.Path, other.Flag)
			case other.Flag == "corpus" && strings.HasPrefix(resolved(f.Path), resolved(other.Path)+string(filepath.Separator)):
				return fmt.Errorf("--%s %s would be a document of --corpus; name a file elsewhere", f.Flag, f.Path)
			}
		}
	}
	return nil
}

// Render renders a result file or a report of conformance. It checks all files before it writes the
// first one. For the tables csv and jsonl, it does not load the questions into memory.
func (fs Files) Render(path string, stdout io.Writer) error {
	if err := fs.distinct(nil); err != nil {
		return err
	}
	for _, f := range fs {
		if f.Path == Stdout {
			continue
		}
		err := f.writable()
		if sameFile(f.Path, path) {
			err = errors.New("it is the result itself; name another file")
		}
		if err != nil {
			return f.failed(err)
		}
	}
	tables := map[string]func(io.Writer, *resultfile.Reader) error{"csv": rows.CSV, "jsonl": rows.JSONLines}
	var doc Document
	for _, f := range fs {
		write := func(w io.Writer) error { return f.render(w, doc) }
		if table := tables[f.Flag]; table != nil {
			write = func(w io.Writer) error {
				r, err := resultfile.Open(path)
				if err != nil {
					return err
				}
				defer r.Close()
				return table(w, r)
			}
		} else if doc == nil {
			var err error
			if doc, err = Read(path); err != nil {
				return err
			}
		}
		if err := f.write(stdout, write); err != nil {
			return f.failed(err)
		}
	}
	return nil
}

// Write checks all files, and writes a document to each in the form of its flag. It reports whether
// stdout was one of them.
func (fs Files) Write(stdout io.Writer, d Document) (printed bool, err error) {
	files := slices.DeleteFunc(slices.Clone(fs), func(f File) bool { return f.Path == Stdout })
	if err := files.Prepare(); err != nil {
		return false, err
	}
	for _, f := range fs {
		if err := f.write(stdout, func(w io.Writer) error { return f.render(w, d) }); err != nil {
			return false, f.failed(err)
		}
	}
	return len(files) < len(fs), nil
}

// CheckStdout returns an error if several forms would be mixed on stdout, to which JSON may go too.
func (fs Files) CheckStdout(json bool) error {
	n := 0
	for _, f := range fs {
		if f.Path == Stdout {
			n++
		}
	}
	switch {
	case n > 1:
		return errors.New("only one report can go to stdout: name a file for the others")
	case n == 1 && json:
		return errors.New("--json and a report cannot both go to stdout: name a file for the report")
	}
	return nil
}

// failed adds the flag and the path to an error.
func (f File) failed(err error) error { return fmt.Errorf("--%s %s: %w", f.Flag, f.Path, err) }

// render writes a document in the form of the flag.
func (f File) render(w io.Writer, d Document) error {
	switch f.Flag {
	case "junit":
		return JUnit(w, d)
	case "html":
		return HTML(w, Page{Document: d})
	case "badge":
		return Badge(w, d)
	case "metrics":
		return Metrics(w, d)
	case "traces":
		return Traces(w, d)
	}
	return Markdown(w, d, MaxSummary)
}

// write replaces the file with the output of content. stdout is used for the path Stdout; nil means
// that this path is an ordinary file.
func (f File) write(stdout io.Writer, content func(io.Writer) error) error {
	path := f.Path
	if path == Stdout && stdout != nil {
		path = ""
	}
	out, err := atomicfile.OpenOutput(path, stdout)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := content(out); err != nil {
		return err
	}
	return out.Keep()
}

// writable returns an error if the file cannot be written, or has an extension that reports must
// not have. It creates the folder of the file.
func (f File) writable() error {
	switch ending := strings.ToLower(filepath.Ext(f.Path)); ending {
	case ".json", ".jsonl", ".journal", ".ledger":
		if start := starts[f.Flag]; ending == ".jsonl" && start != "" && replaceable(f.Path, start) {
			break
		}
		return fmt.Errorf("a file that ends in %s may be a dataset or a result, which the report would replace; name another one", ending)
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	if info, err := os.Stat(f.Path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe is to write it
	}
	out, err := atomicfile.OpenOutput(f.Path, nil)
	if err == nil {
		out.Discard()
	}
	return err
}

// starts are the first bytes of the forms of JSON Lines.
var starts = map[string]string{"jsonl": rows.Start(), "traces": `{"resourceSpans":`}

// replaceable reports whether a form of JSON Lines may be written to a file: it does not exist, is
// empty, or begins like the form. Other files that end in .jsonl may be datasets.
func replaceable(path, start string) bool {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	found := make([]byte, len(start))
	n, err := io.ReadFull(f, found)
	return n == 0 && errors.Is(err, io.EOF) || string(found) == start
}

// sameFile reports whether two paths name one file, which need not exist.
func sameFile(path, other string) bool {
	a, errA := os.Stat(path)
	b, errB := os.Stat(other)
	if errA == nil && errB == nil {
		return os.SameFile(a, b)
	}
	return resolved(path) == resolved(other)
}

// resolved returns an absolute path with the symbolic links in its folder resolved.
func resolved(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(whole))
	if err != nil {
		return whole
	}
	return filepath.Join(dir, filepath.Base(whole))
}
