package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/internal/terminal"
	"evalctl/replay"
	"evalctl/replay/nightly"
)

// validateReport checks where the report is to be written, before anything is spent.
func (c *replayCmd) validateReport() error {
	switch info, err := os.Stat(c.Report); {
	case c.Report == "" && c.History != "":
		return errors.New("--history is for the trend in a report: give --report FILE")
	case c.Report == "":
		return nil
	case err == nil && info.IsDir():
		return fmt.Errorf("--report %s is a folder; name a file in it", c.Report)
	case !strings.EqualFold(filepath.Ext(c.Report), ".md"):
		return fmt.Errorf("--report %s: the name of a report ends in .md", c.Report)
	}
	c.History = cmp.Or(c.History, defaultOutput)
	return c.keepInputs("report", c.Report)
}

// prepareReports checks that all reports can be written at the end.
func (c *replayCmd) prepareReports() error {
	others := filesOf(&c.KeptFlags)
	if err := c.prepare(others...); err != nil {
		return err
	}
	return report.Given(report.File{Flag: "report", Path: c.Report}).Prepare(others...)
}

// keepInputs returns an error if the file that a flag names would replace one that is read.
func (c *replayCmd) keepInputs(flag, path string) error {
	written, err := os.Stat(path)
	if err != nil {
		return nil // there is nothing to replace
	}
	for _, in := range []struct{ flag, path string }{
		{"dataset", c.Dataset}, {"corpus", c.Corpus}, {"errata", c.Errata}, {"ids", strings.TrimPrefix(c.IDs, "@")},
		{"exclude-ids", c.ExcludeIDs}, {"prices", c.Prices},
	} {
		if read, err := os.Stat(in.path); err == nil && os.SameFile(read, written) {
			return fmt.Errorf("--%s %s is the file of --%s, which it would replace", flag, path, in.flag)
		}
	}
	return nil
}

// writeReports writes the report of --report and the files of reportFlags, also of arms that did not
// finish.
func (c *replayCmd) writeReports(p *process, t *terminal.Terminal, outcomes []replay.Outcome, compared *compare.Arms, worst error) error {
	if c.Report == "" && !c.wanted() {
		return worst
	}
	var arms report.Arms
	for _, o := range outcomes {
		arms = append(arms, report.ReadArm(o.Arm.Name, o.Path, o.Err))
	}
	if c.Report != "" {
		if err := nightly.Write(c.Report, arms, compared, c.History); err != nil {
			worst = errors.Join(worst, fmt.Errorf("--report: %w", err))
		}
	}
	switch {
	case !c.wanted():
		return worst
	case compared != nil:
		return c.write(p, t, report.Replay{Arms: arms, Compared: compared}, worst)
	}
	return c.write(p, t, arms, worst)
}
