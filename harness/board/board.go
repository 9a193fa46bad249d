// Package board ranks comparable results of a folder by pass rate, with the evidence of paired
// tests about their order.
package board

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
)

// Board ranks the results of a folder. Its strings come from files and must be escaped in every
// output.
type Board struct {
	Root string `json:"root"`
	// Groups are ordered: those with several results first, then by their newest result.
	Groups []Group `json:"groups"`
	// LeftOut are results that are not ranked.
	LeftOut []LeftOut `json:"left_out"`
}

// LeftOut is a result that is not ranked, with the reason.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Group is a set of comparable results.
type Group struct {
	// Common are the relevant values that all results share.
	Common []Common `json:"common"`
	// Rows are ordered by pass rate, highest first.
	Rows []Row `json:"rows"`
	// Questions is the number of compared questions. Tests is the number of paired tests for which
	// p-values are adjusted (Holm), 0 for one row.
	Questions int `json:"questions"`
	Tests     int `json:"tests"`
	// Accepted lists accepted differences between the results, empty for none.
	Accepted string `json:"accepted,omitempty"`
}

// Common is a value shared by all results of a group.
type Common struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Row is one result of a group.
type Row struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Best and Worst are the range of the result's places, from 1: one more than the number of
	// results shown to be better, and the number of results not shown to be worse.
	Best  int `json:"best"`
	Worst int `json:"worst"`
	// Letters is the compact letter display: two results share a letter if, and only if, no
	// difference between them is shown.
	Letters string `json:"letters"`

	Passed   int              `json:"passed"`
	Total    int              `json:"total"`
	PassRate *float64         `json:"pass_rate"`
	Interval *result.Interval `json:"pass_rate_interval"`
	// NotMeasurable is the number of questions that the target could not be asked.
	NotMeasurable int `json:"not_measurable,omitempty"`
	// Latency is the latency of complete answers.
	Latency result.Quantiles `json:"latency"`
	// Cost is the known cost of the run, also if only some of its questions are compared.
	Cost string `json:"cost"`

	Entry *history.Entry `json:"-"`
}

// member is a result that may be ranked.
type member struct {
	entry *history.Entry
	run   *compare.Run
}

// New ranks the results of a folder. Of several results of one target, only the newest is ranked.
// Results may differ in, or not record, the settings named in accept.
func New(f *history.Folder, accept []string) (*Board, error) {
	b := &Board{Root: f.Root, Groups: []Group{}, LeftOut: []LeftOut{}}
	opts := compare.Options{For: key.Board, Accept: accept, Primary: []string{"pass_rate"}}
	if err := key.CheckNames(key.Board, accept); err != nil {
		return nil, err
	}
	var groups [][]member
	for _, e := range f.Entries {
		m, reason := open(e, accept)
		if reason == "" {
			groups, reason = place(groups, m, opts)
		}
		if reason != "" {
			b.LeftOut = append(b.LeftOut, LeftOut{e.Path, reason})
		}
	}
	for _, u := range f.Unreadable {
		b.LeftOut = append(b.LeftOut, LeftOut{u.Path, u.Reason})
	}
	slices.SortStableFunc(groups, func(a, b []member) int { return min(len(b), 2) - min(len(a), 2) })
	for _, members := range groups {
		g, err := rank(members, opts)
		if err == nil {
			b.Groups = append(b.Groups, g)
			continue
		}
		for _, m := range members {
			b.LeftOut = append(b.LeftOut, LeftOut{m.entry.Path, err.Error()})
		}
	}
	return b, nil
}

// open opens the result of an entry, or returns the reason why it is not ranked.
func open(e *history.Entry, accept []string) (m member, reason string) {
	missing := slices.DeleteFunc(key.Missing(key.Board, &key.File{Result: e.Result}), func(name string) bool { return slices.Contains(accept, name) })
	switch {
	case e.Result == nil:
		return m, fmt.Sprintf("it is of the kind %s, not a run or a replay", e.Kind)
	case e.Stopped != "":
		return m, fmt.Sprintf("the run stopped early (%s)", e.Stopped)
	case e.PassRate == nil:
		return m, "no question counts"
	case !e.Scored():
		return m, e.Result.Gate.Sentence
	case e.Result.Suspected():
		return m, "it is suspect: " + e.Result.Suspect[0].Message
	case len(missing) > 0:
		return m, fmt.Sprintf("it does not record %s: with --accept %s it is ranked all the same", strings.Join(missing, ", "), strings.Join(missing, ","))
	}
	run, err := compare.Open(e.Path)
	if err != nil {
		return m, err.Error()
	}
	return member{e, run}, ""
}

// place adds a result to its group, or begins a new one. Entries must be ordered newest first.
func place(groups [][]member, m member, opts compare.Options) (_ [][]member, reason string) {
	for i, g := range groups {
		if compare.Comparable(append(runsOf(g), m.run), opts) != nil {
			continue
		}
		if newer := slices.IndexFunc(g, func(o member) bool { return same(o.entry, m.entry) }); newer >= 0 {
			return groups, "a newer result of the same target is ranked: " + g[newer].entry.Path
		}
		groups[i] = append(g, m)
		return groups, ""
	}
	return append(groups, []member{m}), ""
}

// same reports whether two results are of one target.
func same(a, b *history.Entry) bool {
	x, y := a.Result.Identity.Daemon, b.Result.Identity.Daemon
	x.Version, y.Version = "", ""
	return a.Name == b.Name && x == y
}

func runsOf(members []member) []*compare.Run {
	var runs []*compare.Run
	for _, m := range members {
		runs = append(runs, m.run)
	}
	return runs
}

// rank compares the results of a group.
func rank(members []member, opts compare.Options) (Group, error) {
	if len(members) == 1 {
		row := rowOf(members[0].entry)
		row.Best, row.Worst = 1, 1
		return Group{Rows: []Row{row}, Questions: row.Total, Common: alone(members[0].entry)}, nil
	}
	c, err := compare.Compare(runsOf(members), opts)
	if err != nil {
		return Group{}, fmt.Errorf("compare the results of a group: %w", err)
	}
	g := Group{Questions: c.Questions.Selected, Tests: c.Tests, Common: common(c), Accepted: c.Accepted()}
	differ := make([][]bool, len(c.Runs))
	for i, f := range c.Runs {
		differ[i] = make([]bool, len(c.Runs))
		row := rowOf(members[f.Argument-1].entry)
		row.Name = f.Name
		if c.Questions.Intersected || c.Questions.Excluded() > 0 {
			row.of(&f)
		}
		g.Rows = append(g.Rows, row)
	}
	better := make([]int, len(c.Runs)) // how many are shown to be better than each
	worse := make([]int, len(c.Runs))
	for _, p := range c.Pairs {
		switch p.Verdict {
		case compare.Better:
			better[p.Reference]++
			worse[p.Run]++
		case compare.Worse:
			better[p.Run]++
			worse[p.Reference]++
		default:
			continue
		}
		differ[p.Reference][p.Run], differ[p.Run][p.Reference] = true, true
	}
	letters := Letters(differ)
	for i := range g.Rows {
		g.Rows[i].Best, g.Rows[i].Worst, g.Rows[i].Letters = better[i]+1, len(g.Rows)-worse[i], letters[i]
	}
	return g, nil
}

// rowOf returns the figures of a result.
func rowOf(e *history.Entry) Row {
	r := Row{
		Name: e.Name, Path: e.Path, Passed: e.Passed, Total: e.Total, PassRate: e.PassRate, Interval: e.Interval,
		NotMeasurable: e.Result.Counts.NotMeasurable, Latency: e.Result.Latency, Entry: e,
	}
	r.Cost = e.SpentUSD.String()
	if e.Unpriced {
		r.Cost = "unknown"
	}
	if c := e.Result.ReaderCost; c != nil {
		r.Cost += " + reader " + wording.ReaderCost(c)
	}
	return r
}

// of sets the figures to those over the questions of a comparison, which the tests are about.
func (r *Row) of(f *compare.RunFigures) {
	r.Passed, r.Total, r.PassRate, r.Interval = f.Counts.Passed, f.Counts.Total, f.PassRate, f.Believed()
	r.Latency = f.Latency
}

// shownKeys are the keys shown to describe a group, in order.
var shownKeys = []string{
	"dataset", "questions", "scenario", "mode", "top_k", "scorer", "judge", "reader", "corpus", "isolated",
}

// common returns the values shared by the runs of a comparison.
func common(c *compare.Comparison) []Common {
	out := []Common{}
	for _, name := range shownKeys {
		if v := c.Key(name).Common(); v != "" {
			out = append(out, Common{name, v})
		}
	}
	return out
}

// alone returns the same values for a single result.
func alone(e *history.Entry) []Common {
	out := []Common{{"dataset", e.DatasetSHA256}, {"scenario", string(e.Scenario)}, {"scorer", e.Scorer}}
	return slices.DeleteFunc(out, func(c Common) bool { return c.Value == "" })
}

// Title describes a group by its questions and the number of results.
func (g *Group) Title() string {
	e := g.Rows[0].Entry
	what := filepath.Base(e.Dataset)
	if e.Selection != "" {
		what += ", " + e.Selection
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s  %s", what, e.Scenario, e.Scorer))
}

// Places formats the places of a row, such as 1 or 1–3.
func (r *Row) Places() string {
	if r.Best == r.Worst {
		return fmt.Sprint(r.Best)
	}
	return fmt.Sprintf("%d–%d", r.Best, r.Worst)
}
