package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/report"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

// reportFlags is embedded in commands that also write their result in forms for other programs.
type reportFlags struct {
	JUnit    string `name:"junit" placeholder:"FILE" help:"Also write the result as JUnit XML." group:"output"`
	Markdown string `name:"markdown" placeholder:"FILE" help:"Also write a summary in Markdown, smaller than 1 MiB." group:"output"`
	HTML     string `name:"html" placeholder:"FILE" help:"Also write a page with all questions, as one HTML file. A replay of several arms writes one that compares them, and a page for each: FILE.ARM.html." group:"output"`
	CI       bool   `name:"ci" help:"In a workflow of GitHub: add the summary to that of the job, and annotate what did not pass." group:"advanced"`

	arms     []string // what a replay measures: several of them have a page each, and one together
	reported bool     // the reports have been written
}

// fileFlag is a flag that names a file.
type fileFlag struct{ name, path string }

// reportFiles returns the flags that name files to write.
func (r *reportFlags) reportFiles() []fileFlag {
	all := []fileFlag{{"junit", r.JUnit}, {"markdown", r.Markdown}, {"html", r.HTML}}
	return slices.DeleteFunc(all, func(f fileFlag) bool { return f.path == "" })
}

// pages returns the paths of the pages: the one that the flag names, and for several arms one each,
// with the name of the arm before the ending.
func (r *reportFlags) pages() []string {
	paths := []string{r.HTML}
	if len(r.arms) < 2 {
		return paths
	}
	ending := filepath.Ext(r.HTML)
	for _, arm := range r.arms {
		paths = append(paths, strings.TrimSuffix(r.HTML, ending)+"."+arm+ending)
	}
	return paths
}

// written returns the files that are written, each with its flag.
func (r *reportFlags) written() []fileFlag {
	var files []fileFlag
	for _, f := range r.reportFiles() {
		if f.name != "html" {
			files = append(files, f)
			continue
		}
		for _, path := range r.pages() {
			files = append(files, fileFlag{f.name, path})
		}
	}
	return files
}

// addPaths adds the files to those that keptFlags.kept makes absolute.
func (r *reportFlags) addPaths(paths map[string]string) map[string]string {
	for _, f := range r.reportFiles() {
		paths[f.name] = f.path
	}
	return paths
}

// prepare checks that the reports can be written at the end, and creates their folders. others are
// the files that the command reads or writes, none of which a report may replace.
func (r *reportFlags) prepare(others ...fileFlag) error {
	files := r.written()
	for i, f := range files {
		for _, other := range slices.Concat(others, files[:i]) {
			switch {
			case other.path == "" || other.name == f.name:
			case sameFile(f.path, other.path):
				return usageError{fmt.Errorf("--%s %s is also the file of --%s; name another one", f.name, f.path, other.name)}
			case other.name == "corpus" && strings.HasPrefix(resolved(f.path), resolved(other.path)+string(filepath.Separator)):
				return usageError{fmt.Errorf("--%s %s would be a document of --corpus; name a file elsewhere", f.name, f.path)}
			}
		}
		if err := f.writable(); err != nil {
			return usageError{fmt.Errorf("--%s %s: %w", f.name, f.path, err)}
		}
	}
	return nil
}

// writable returns an error if the file cannot be written, or has a name that no report has.
func (f fileFlag) writable() error {
	switch ending := strings.ToLower(filepath.Ext(f.path)); ending {
	case ".json", ".jsonl", ".journal", ".ledger":
		return fmt.Errorf("a file that ends in %s may be a dataset or a result, which the report would replace; name another one", ending)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe is to write it
	}
	out, err := atomicfile.OpenOutput(f.path, nil)
	if err == nil {
		out.Discard()
	}
	return err
}

// sameFile reports whether two paths are those of one file, which need not exist.
func sameFile(path, other string) bool {
	a, errA := os.Stat(path)
	b, errB := os.Stat(other)
	if errA == nil && errB == nil {
		return os.SameFile(a, b)
	}
	return resolved(path) == resolved(other)
}

// resolved returns an absolute path without symbolic links in its folder.
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

// write writes the reports of a result, and returns the error that the command ends with: verdict,
// or the first error of a report if verdict is nil. Any other error of a report is printed.
func (r *reportFlags) write(p *process, t *terminal.Terminal, d report.Document, verdict error) error {
	r.reported = true
	var failed []error
	for _, f := range r.written() {
		shown := d
		if i := slices.Index(r.pages(), f.path); i > 0 && f.name == "html" {
			if arms, ok := d.(report.Replay); ok {
				shown = arms.Arms[i-1 : i]
			}
		}
		if f.name == "html" && report.PageOf(shown) == nil {
			t.Field("note", "no page %s: there is no result to show", terminal.Line(f.path))
			continue
		}
		if err := f.write(shown); err != nil {
			failed = append(failed, fmt.Errorf("--%s %s: %w; the result itself is complete", f.name, f.path, err))
		}
	}
	if r.CI {
		if err := r.annotate(p, t, d); err != nil {
			failed = append(failed, fmt.Errorf("--ci: %w; the result itself is complete", err))
		}
	}
	for _, err := range failed {
		if verdict == nil {
			verdict = err
			continue
		}
		fmt.Fprintf(p.stderr, "evalctl: %s\n", terminal.Line(err.Error()))
	}
	return verdict
}

// write writes the file of a flag.
func (f fileFlag) write(d report.Document) error { return f.writeTo(f.path, nil, d) }

// writeTo writes the report of a flag to a file, or to stdout if path is empty.
func (f fileFlag) writeTo(path string, stdout io.Writer, d report.Document) error {
	out, err := atomicfile.OpenOutput(path, stdout)
	if err != nil {
		return err
	}
	defer out.Discard()
	switch f.name {
	case "junit":
		err = report.JUnit(out, d)
	case "html":
		err = report.HTML(out, *report.PageOf(d))
	default:
		err = report.Markdown(out, d, report.MaxSummary)
	}
	if err != nil {
		return err
	}
	return out.Keep()
}

// summaryVariable names the file that GitHub shows as the summary of a step, workspaceVariable the
// folder to which the paths of annotations are relative.
const (
	summaryVariable   = "GITHUB_STEP_SUMMARY"
	workspaceVariable = "GITHUB_WORKSPACE"
)

// annotate adds the summary to that of the step, and prints annotations on stderr: stdout has the
// summary line alone, and GitHub reads both.
func (r *reportFlags) annotate(p *process, t *terminal.Terminal, d report.Document) error {
	root := p.env(workspaceVariable)
	if root == "" {
		var err error
		if root, err = os.Getwd(); err != nil {
			return err
		}
	}
	if err := report.Annotations(p.stderr, d, root); err != nil {
		return err
	}
	path := p.env(summaryVariable)
	if path == "" {
		t.Field("note", "$%s is not set, so --ci writes no summary; name a file with --markdown", summaryVariable)
		return nil
	}
	return appendSummary(path, d)
}

// appendSummary adds a document to a summary, as far as there is space for it.
func appendSummary(path string, d report.Document) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	limit := report.MaxSummary - int(min(info.Size(), report.MaxSummary))
	if info.Size() > 0 && limit > 0 {
		if _, err := io.WriteString(f, "\n"); err != nil {
			return err
		}
		limit--
	}
	if err := report.Markdown(f, d, limit); err != nil {
		return err
	}
	return f.Close()
}

// wanted reports whether there is a report to write.
func (r *reportFlags) wanted() bool { return r.CI || len(r.reportFiles()) > 0 }

// writeArm writes the reports of a run with its result file. problem is what ended it early.
func (r *reportFlags) writeArm(p *process, t *terminal.Terminal, name, path string, problem, verdict error) error {
	if !r.wanted() {
		return verdict
	}
	return r.write(p, t, report.Arms{armOf(name, path, problem)}, verdict)
}

// writeProblem writes reports that say why there is no result. Without an error, or after the
// reports of the result, it writes none.
func (r *reportFlags) writeProblem(p *process, t *terminal.Terminal, name string, err error) error {
	if err == nil || r.reported || !r.wanted() {
		return err
	}
	return r.write(p, t, report.Arms{armOf(name, "", err)}, err)
}

// armOf reads the result of an arm. A result that cannot be read is a problem of the arm.
func armOf(name, path string, problem error) report.Arm {
	arm := report.Arm{Name: name}
	if path != "" {
		run, err := report.ReadRun(path)
		if err != nil && problem == nil {
			problem = err
		}
		arm.Run = run
	}
	if problem != nil {
		arm.Problem = problem.Error()
	}
	return arm
}
