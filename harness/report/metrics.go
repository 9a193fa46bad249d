package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evalctl/harness/result"
)

// family is a metric and its samples for an arm.
type family struct {
	// name ends in the unit, which is empty for a number without one.
	name, unit, kind, help string
	samples                func(*Run) []sample
}

// The kinds of families. All but latencies are gauges, because a file describes one result: a
// reader of Prometheus' older text format also knows gauges and summaries.
const (
	gauge   = "gauge"
	summary = "summary"
)

// sample is a value with its labels besides Arm.labels, as names and values in turn.
type sample struct {
	suffix string // of the name
	labels []string
	value  float64
}

// Metrics writes the figures of a result in the text format of OpenMetrics 1.0. Samples have no
// times, which not every reader accepts. A document without results, and a failure of w, are
// errors.
func Metrics(w io.Writer, d Document) error {
	arms := armsOf(d)
	if arms == nil {
		return errors.New("only a result of run or replay has metrics")
	}
	b := bufio.NewWriter(w)
	for _, f := range families {
		head := fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		if f.unit != "" {
			head += fmt.Sprintf("# UNIT %s %s\n", f.name, f.unit)
		}
		for i := range arms {
			for _, s := range f.of(&arms[i]) {
				fmt.Fprintf(b, "%s%s%s{%s} %s\n", head, f.name, s.suffix, labelText(slices.Concat(arms[i].labels(), s.labels)), number(s.value))
				head = ""
			}
		}
	}
	fmt.Fprintln(b, "# EOF")
	return b.Flush()
}

// armsOf returns the arms of a result, nil for another document.
func armsOf(d Document) Arms {
	switch d := d.(type) {
	case *Run:
		return d.arms()
	case Arms:
		return d
	case Replay:
		return d.Arms
	}
	return nil
}

// of returns the samples of an arm. Without a result, only the verdict has any.
func (f *family) of(a *Arm) []sample {
	switch {
	case a.Run != nil:
		return f.samples(a.Run)
	case f.name == verdictName:
		return verdictSamples(&Run{})
	}
	return nil
}

// labels returns the labels of all samples of an arm.
func (a *Arm) labels() []string {
	if a.Run == nil {
		return []string{"target", a.Name}
	}
	id := &a.Run.Result.Identity
	return []string{"target", a.Name, "dataset", DatasetName(id), "scenario", string(id.Scenario)}
}

// DatasetName returns the name of the file of questions without its folder, which differs from
// machine to machine.
func DatasetName(id *result.Identity) string {
	return id.Dataset.Path[strings.LastIndexAny(id.Dataset.Path, `/\`)+1:]
}

// escapeLabel escapes the characters that end a value or a line. Other characters are data.
var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelText returns names and values in turn as between braces.
func labelText(labels []string) string {
	var parts []string
	for i := 0; i < len(labels); i += 2 {
		parts = append(parts, fmt.Sprintf(`%s="%s"`, labels[i], escapeLabel.Replace(strings.ToValidUTF8(labels[i+1], "\ufffd"))))
	}
	return strings.Join(parts, ",")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
