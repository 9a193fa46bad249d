package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/board"
	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/wording"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
	"evalctl/internal/terminal"
)

// Board is the document of a ranking. URLs are the pages of results by their paths.
type Board struct {
	*board.Board
	URLs map[string]string
}

func (Board) suites() []suite           { return nil }
func (Board) annotations() []annotation { return nil }

func (b Board) reports() []*form.Report {
	ranked, accepted := 0, []string{}
	r := &form.Report{Sections: []form.Section{{Place: form.First}}}
	for i := range b.Groups {
		if text := b.Groups[i].Accepted; text != "" && !slices.Contains(accepted, text) {
			accepted = append(accepted, text)
		}
		ranked += len(b.Groups[i].Rows)
		r.Sections = append(r.Sections, b.group(i))
	}
	r.Sections[0].Show(form.Terminal, form.Sentences(dataOf(accepted)))
	r.Verdict = form.Verdict{
		Tone: form.None, Mark: "≡", Word: "board", Title: form.F("Results in %s", form.Name(b.Root)),
		Figure: figure.Count(ranked, "result") + " in " + figure.Count(len(b.Groups), "group"),
		Sentences: append(dataOf(accepted), form.F("Only results that measured the same thing are ranked together. "+
			"Two results share a letter if no difference between them is shown.")),
	}
	left := form.Section{ID: "left-out", Title: "Left out"}
	t := form.NewTable(form.F("Files that are not ranked"), "file", "why")
	for _, l := range b.LeftOut {
		t.Row(form.Path(l.Path), form.Data(l.Reason))
	}
	left.Show(form.HTML, t)
	how := methodFacts{Section: form.Section{ID: "how", Title: "How to read this", Folded: true}}
	how.say("place", "From one more than the number of results that are shown to be better, "+
		"to the number of those that are not shown to be worse.")
	how.say("letters", fmt.Sprintf("Each pair of a group has a paired test over the same questions (McNemar's, or a sign-flip "+
		"test with repeats). A difference is shown if p, adjusted over all pairs of the group (Holm), is below %.2f.", 1-compare.Confidence))
	how.say("not shown", "That no difference is shown does not mean that there is none: it may be too small for so many questions.")
	r.Sections = append(r.Sections, left, how.Section)
	if ranked > 0 {
		r.Sections = append(r.Sections, lastGap(), b.closing())
	}
	return []*form.Report{r}
}

// closing has who leads the first group of several results, why, and the command that compares the
// first two.
func (b Board) closing() form.Section {
	i := slices.IndexFunc(b.Groups, func(g board.Group) bool { return len(g.Rows) > 1 })
	if i < 0 {
		var paths []string
		for _, g := range b.Groups {
			paths = append(paths, g.Rows[0].Path)
		}
		if len(paths) == 1 {
			return form.Closing(form.F("only one result: there is nothing to rank"), form.Text{}, terminal.CommandLine("evalctl", "show", paths[0]))
		}
		return form.Closing(form.F("nothing is ranked"), form.F("each of %s measured something else; the command says in what the first two differ", figure.Count(len(paths), "result")),
			terminal.CommandLine("evalctl", "compare", paths[0], paths[1]))
	}
	g := &b.Groups[i]
	first, second := &g.Rows[0], &g.Rows[1]
	verdict := form.F("%s leads %s", form.Name(first.Name), figure.Count(len(g.Rows), "result"))
	if strings.ContainsAny(first.Letters, second.Letters) {
		verdict = form.F("no difference is shown between %s and %s, the first of %s", form.Name(first.Name), form.Name(second.Name), figure.Count(len(g.Rows), "result"))
	}
	if len(b.Groups) > 1 {
		verdict = form.F("%s in %s", verdict, form.Path(g.Title()))
	}
	reason := form.F("%d/%d against %d/%d passed, %s (Holm)", first.Passed, first.Total, second.Passed, second.Total, figure.Count(g.Tests, "paired test"))
	return form.Closing(verdict, reason, comparing(first.Path, second.Path))
}

func (b Board) group(i int) form.Section {
	g := &b.Groups[i]
	s := form.Section{ID: fmt.Sprintf("group-%d", i+1), Title: g.Title()}
	if i > 0 {
		s.Show(form.Terminal, form.Gap{})
	}
	s.Fact("group", "%s  %s", form.Path(g.Title()), figure.Count(g.Questions, "question"))
	var common []form.Text
	same := form.Facts{}
	for _, c := range g.Common {
		same = append(same, form.Fact{Name: c.Key, Value: form.F("%s", form.Data(c.Value)), In: form.HTML})
		if c.Value != "none" && c.Value != "no" {
			common = append(common, form.F("%s %s", c.Key, form.Name(printable.Short(c.Value, 24))))
		}
	}
	s.FactIn(form.Terminal, "common", "%s", form.Join("  ", common...))
	var all []quality
	for _, r := range g.Rows {
		q := qualityOf(r.Name, r.Entry.Result)
		q.rate, q.interval, q.p50 = r.PassRate, r.Interval, r.Latency.P50 // which may be of fewer questions
		all = append(all, q)
	}
	pareto(&s, all)
	t := form.NewTable(form.F("%s, %s", figure.Count(len(g.Rows), "result"), figure.Count(g.Questions, "question")),
		"result", ">letters", ">place", ">passed", ">rate", "#0 to 1", ">95%", ">p50", ">cost", "#date")
	for _, r := range g.Rows {
		passed, p50 := fmt.Sprintf("%d/%d", r.Passed, r.Total), "too few"
		if r.NotMeasurable > 0 {
			passed += fmt.Sprintf(" (%d not measurable)", r.NotMeasurable)
		}
		if r.Latency.P50 != nil {
			p50 = figure.Duration(*r.Latency.P50)
		}
		t.Row(form.Cell{Text: form.F("%s", form.Name(r.Name)), URL: b.URLs[r.Path]}, r.Letters, r.Places(), passed, figure.Rate(r.PassRate),
			rateBar(r.PassRate, r.Interval, math.NaN()), wording.Ends(r.Interval), p50, form.Data(r.Cost), r.Entry.Date())
	}
	s.Show(form.Everywhere, t)
	if len(same) > 0 {
		s.Show(form.HTML, form.Fold{Title: "What these results have in common", Content: same})
	}
	if g.Tests > 0 {
		s.FactIn(form.Terminal, "letters", "two results share a letter if no difference is shown (%s, Holm)", figure.Count(g.Tests, "paired test"))
	}
	return s
}

// WriteBoard writes the page of a board after the pages of the results that it links to. These go
// to a folder next to the page, named after it without the extension.
func WriteBoard(path string, b *board.Board) error {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	if base == path || filepath.Base(base) == "" {
		return fmt.Errorf("%s has no ending such as .html, without which the folder of the results would have its name", path)
	}
	if err := (File{Flag: "html", Path: path}).writable(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	urls := map[string]string{}
	back := form.Link{Text: "Board", URL: "../" + filepath.Base(path)}
	for _, g := range b.Groups {
		for _, r := range g.Rows {
			run, err := ReadRun(r.Path)
			if err != nil {
				return err
			}
			file := fmt.Sprintf("%d.html", len(urls)+1) // names of results may contain anything
			err = atomicfile.Write(filepath.Join(base, file), 0o644, func(w io.Writer) error {
				return HTML(w, Page{Document: run, Links: []form.Link{back}})
			})
			if err != nil {
				return err
			}
			urls[r.Path] = filepath.Base(base) + "/" + file
		}
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return HTML(w, Page{Document: Board{b, urls}}) })
}
