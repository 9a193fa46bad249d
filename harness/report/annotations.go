package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/printable"
)

// maxAnnotations is the maximum number of annotations that GitHub shows for a step.
const maxAnnotations = 10

// annotation is an error, optionally with a place in a file.
type annotation struct {
	file           string // empty for none
	line           int    // from 1, 0 for none
	title, message string
}

// Annotations writes everything that did not pass as workflow commands of GitHub, at most 10, one
// per line. Questions without a verdict come before failed ones. If there are more, the last line
// says how many. The place of a question is its line in the dataset. The path is relative to root
// if the dataset is in that folder. Annotations returns the error of w.
func Annotations(w io.Writer, d Document, root string) error {
	all := d.annotations()
	shown := all
	if len(all) > maxAnnotations {
		shown = all[:maxAnnotations-1]
	}
	var b strings.Builder
	for _, a := range shown {
		var properties []string
		if showable(a.file) {
			properties = append(properties, "file="+escapeProperty(relative(root, a.file)))
			if a.line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", a.line))
			}
		}
		properties = append(properties, "title="+escapeProperty(printable.Line(a.title, messageLength)))
		fmt.Fprintf(&b, "::error %s::%s\n", strings.Join(properties, ","), escapeData(printable.Line(a.message, messageLength)))
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(&b, "::notice title=evalctl::%d more are not shown here; they are in the summary of the job and in the result file\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// showable reports whether a path can be part of a command: it is printable and valid UTF-8.
func showable(path string) bool {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	return path != "" && utf8.ValidString(path) && !strings.ContainsFunc(path, unprintable)
}

// relative returns the path of a file in root relative to root, with slashes. Other paths are
// unchanged.
func relative(root, path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(root, whole); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// escapeData escapes the message of a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes a property of a workflow command.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// annotations returns the verdicts other than pass and measured, then the questions without a
// verdict, then the failed ones.
func (a Arms) annotations() []annotation {
	var verdicts, lost, failures []annotation
	for _, arm := range a {
		if arm.Run == nil {
			verdicts = append(verdicts, annotation{title: arm.Name + ": no result", message: cmp.Or(arm.Problem, "it was not measured")})
			continue
		}
		if g := arm.Run.Result.Gate; !g.Verdict.Good() {
			verdicts = append(verdicts, annotation{title: arm.Name + ": " + string(g.Verdict), message: g.Sentence})
		}
		for i := range arm.Run.Questions {
			r := &arm.Run.Questions[i]
			switch {
			case r.Passed || !r.Outcome.Counts():
			case r.Outcome == result.Scored:
				failures = append(failures, arm.annotation(r))
			default:
				lost = append(lost, arm.annotation(r))
			}
		}
	}
	return slices.Concat(verdicts, lost, failures)
}

// annotation returns the annotation for a question that did not pass.
func (a *Arm) annotation(r *result.Record) annotation {
	c := a.question(r)
	message := c.message
	if r.Outcome == result.Scored {
		const most = messageLength / 3
		message = fmt.Sprintf("expected %s; got %s; %s", printable.Line(wantedText(r, a.Run.Result.ScorerName), most), printable.Line(r.Answer, most), c.message)
	}
	return annotation{
		file: a.Run.Result.Identity.Dataset.Path, line: r.Line, title: caseName(r) + " " + group(r), message: message,
	}
}
