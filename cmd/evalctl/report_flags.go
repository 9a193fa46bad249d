package main

import (
	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// reportFlags is embedded in commands that also write their result in forms for other programs. An
// empty value writes no report: workflows pass variables on that are not set.
type reportFlags struct {
	JUnit    string `name:"junit" empty:"" placeholder:"FILE" help:"${about_junit}" group:"output"`
	Markdown string `name:"markdown" empty:"" placeholder:"FILE" help:"${about_markdown}" group:"output"`
	HTML     string `name:"html" empty:"" placeholder:"FILE" help:"${about_html}" group:"output"`
	CI       bool   `name:"ci" help:"In a workflow of GitHub: add the summary to that of the job, and annotate what did not pass." group:"advanced"`

	arms     []string // what a replay measures: several of them have a page each, and one together
	reported bool     // the reports have been written
}

// reportFiles returns the flags that name files to write.
func (r *reportFlags) reportFiles() report.Files {
	return report.Given(report.File{Flag: "junit", Path: r.JUnit}, report.File{Flag: "markdown", Path: r.Markdown},
		report.File{Flag: "html", Path: r.HTML})
}

// addPaths adds the files to those that project.KeptFlags.Keep makes absolute.
func (r *reportFlags) addPaths(paths map[string]string) map[string]string {
	for _, f := range r.reportFiles() {
		paths[f.Flag] = f.Path
	}
	return paths
}

// filesOf returns the files that the flags of a command name.
func filesOf(flags *project.KeptFlags) (files []report.File) {
	for flag, path := range flags.Files() {
		files = append(files, report.File{Flag: flag, Path: path})
	}
	return files
}

// prepare checks that the reports can be written at the end. others are the files that the command
// reads or writes.
func (r *reportFlags) prepare(others ...report.File) error {
	return r.reportFiles().ForArms(r.arms).Prepare(others...)
}

// write writes the reports of a result, and returns the error that the command ends with.
func (r *reportFlags) write(p *process, t *terminal.Terminal, d report.Document, verdict error) error {
	r.reported = true
	return report.Outputs{
		Files: r.reportFiles().ForArms(r.arms), CI: r.CI, Env: p.env, Stderr: p.stderr, Terminal: t,
	}.Write(d, verdict)
}

// wanted reports whether there is a report to write.
func (r *reportFlags) wanted() bool { return r.CI || len(r.reportFiles()) > 0 }

// writeArm writes the reports of a run with its result file. problem is what ended it early.
func (r *reportFlags) writeArm(p *process, t *terminal.Terminal, name, path string, problem, verdict error) error {
	if !r.wanted() {
		return verdict
	}
	return r.write(p, t, report.Arms{report.ReadArm(name, path, problem)}, verdict)
}

// writeProblem writes reports that say why there is no result. Without an error, or after the
// reports of the result, it writes none.
func (r *reportFlags) writeProblem(p *process, t *terminal.Terminal, name string, err error) error {
	if err == nil || r.reported {
		return err
	}
	return r.write(p, t, report.Arms{report.ReadArm(name, "", err)}, err)
}

// printConfigured prints the project file that is in force.
func printConfigured(t *terminal.Terminal, p *process) {
	if p.config != "" {
		t.Field("config", "%s", terminal.Line(p.config))
	}
}

// printJudging prints the judge, and what it is likely to cost from now on.
func printJudging(t *terminal.Terminal, c *runCmd, p *plan.Run, left judging.Forecast, spent llm.USD) {
	if p.Judging == nil {
		for _, flag := range []string{"max-cost-usd", "judge-cache"} {
			calls := flag == "max-cost-usd" && (p.Calls.Upstream != nil || p.Calls.Embedding != nil)
			if c.Typed(flag) && !calls { // a file may have it for runs with another scorer
				t.Field("warning", "--%s has no effect: --scorer %s makes no paid requests, and neither does the daemon", flag, c.Scorer)
			}
		}
		return
	}
	text.Judging(t, left, p.Judging, c.money.Cap, spent, "reduce --limit")
}
