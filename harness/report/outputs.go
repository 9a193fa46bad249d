package report

import (
	"fmt"
	"io"
	"os"

	"evalctl/internal/terminal"
)

// Outputs are the forms in which a command writes a document besides its printed output.
type Outputs struct {
	Files Files
	// CI adds the summary to the summary of a GitHub job, and annotates everything that did not
	// pass.
	CI bool
	// Env returns an environment variable.
	Env func(string) string
	// Stderr is the destination of annotations. GitHub reads stdout and stderr, but stdout has only
	// the summary line.
	Stderr io.Writer
	// Terminal gets notes about reports that are not written.
	Terminal *terminal.Terminal
}

// Write writes the reports of a result, and returns the error of the command: verdict, or the first
// error of a report if verdict is nil. Other errors of reports are printed.
func (o Outputs) Write(d Document, verdict error) error {
	var failed []error
	for _, f := range o.Files {
		shown := d
		if arms, ok := d.(Replay); ok && f.arm > 0 {
			shown = arms.Arms[f.arm-1 : f.arm]
		}
		if f.Flag == "html" && !hasPage(shown) {
			o.Terminal.Field("note", "no page %s: there is no result to show", terminal.Line(f.Path))
			continue
		}
		if err := f.write(nil, func(w io.Writer) error { return f.render(w, shown) }); err != nil {
			failed = append(failed, fmt.Errorf("%w; the result itself is complete", f.failed(err)))
		}
	}
	if o.CI {
		if err := o.annotate(d); err != nil {
			failed = append(failed, fmt.Errorf("--ci: %w; the result itself is complete", err))
		}
	}
	for _, err := range failed {
		if verdict == nil {
			verdict = err
			continue
		}
		fmt.Fprintf(o.Stderr, "evalctl: %s\n", terminal.Line(err.Error()))
	}
	return verdict
}

// summaryVariable names the file with the summary of a step on GitHub, workspaceVariable the folder
// to which the paths of annotations are relative.
const (
	summaryVariable   = "GITHUB_STEP_SUMMARY"
	workspaceVariable = "GITHUB_WORKSPACE"
)

// annotate prints annotations, and appends to the summary of the step.
func (o Outputs) annotate(d Document) error {
	root := o.Env(workspaceVariable)
	if root == "" {
		var err error
		if root, err = os.Getwd(); err != nil {
			return err
		}
	}
	if err := Annotations(o.Stderr, d, root); err != nil {
		return err
	}
	path := o.Env(summaryVariable)
	if path == "" {
		o.Terminal.Field("note", "$%s is not set, so --ci writes no summary; name a file with --markdown", summaryVariable)
		return nil
	}
	return appendSummary(path, d)
}

// appendSummary appends a document to a summary, as far as there is space.
func appendSummary(path string, d Document) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	limit := MaxSummary - int(min(info.Size(), MaxSummary))
	if info.Size() > 0 && limit > 0 {
		if _, err := io.WriteString(f, "\n"); err != nil {
			return err
		}
		limit--
	}
	if err := Markdown(f, d, limit); err != nil {
		return err
	}
	return f.Close()
}
