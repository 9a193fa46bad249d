package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Arm is one of the things that a replay measured.
type Arm struct {
	Name string
	// Path is that of the result file, empty if the arm has none.
	Path string
}

// Arms are the arms of one replay against each other. Comparison and Refused are nil if fewer than
// two arms finished. Its strings come from results and datasets: renderers must escape them.
type Arms struct {
	// Names are those of the arms in the order given, which is that of the values of Facts.
	Names []string `json:"arms"`
	// Comparison is that of the arms that finished.
	Comparison *Comparison `json:"comparison"`
	// Refused has the differences that matter and were not accepted: then the arms have no order, and
	// nothing is said about which is better.
	Refused *IncomparableError `json:"incomparable"`
	// NotCompared says which arms are not compared and why, one sentence each.
	NotCompared []string `json:"not_compared"`
	// Facts are what was recorded of the arms besides their results.
	Facts []Fact `json:"facts"`
}

// OfArms compares the arms that finished, as Compare does with these options. An arm that stopped
// has not asked all of its questions: it is left out, and NotCompared says so. Results that cannot
// be read or compared are named there too.
func OfArms(arms []Arm, opts Options) *Arms {
	c := &Arms{NotCompared: []string{}}
	var runs, finished []*Run
	for _, a := range arms {
		c.Names = append(c.Names, a.Name)
		run, err := a.open()
		runs = append(runs, run)
		switch {
		case err != nil:
			c.leaveOut(a.Name, err.Error())
		case run.res.Stopped != "":
			c.leaveOut(a.Name, fmt.Sprintf("it stopped (%s) after %d of %d questions", run.res.Stopped,
				run.res.Counts.Finished(), run.res.Planned))
		default:
			finished = append(finished, run)
		}
	}
	c.Facts = factsOf(runs)
	if len(finished) < 2 {
		if len(arms) > 1 {
			c.NotCompared = append(c.NotCompared, "Nothing is compared: fewer than two arms finished. "+
				"evalctl compare --intersect compares the questions that several results have.")
		}
		return c
	}
	var err error
	c.Comparison, err = Compare(finished, opts)
	if !errors.As(err, &c.Refused) && err != nil {
		c.NotCompared = append(c.NotCompared, fmt.Sprintf("Nothing is compared: %v.", err))
	}
	return c
}

func (c *Arms) leaveOut(name, why string) {
	c.NotCompared = append(c.NotCompared, fmt.Sprintf("%s is not compared: %s.", name, why))
}

// open reads the result of the arm.
func (a Arm) open() (*Run, error) {
	if a.Path == "" {
		return nil, errors.New("it has no result")
	}
	run, err := Open(a.Path)
	if err == nil && run.res == nil {
		err = fmt.Errorf("%s is no result of a replay", a.Path)
	}
	return run, err
}

// Sentences say what a reader must know first: whether the arms are comparable, what memory adds
// over baselines, who differs from whom, by how much and how certain that is, and in what the arms
// differ besides their results.
func (c *Arms) Sentences() []string { return append(c.Lead(), c.Others()...) }

// Lead has the first of Sentences, what memory adds over baselines, with the differences that were
// accepted. It is empty without a baseline.
func (c *Arms) Lead() []string {
	if c.Comparison == nil || len(c.Comparison.Memory) == 0 {
		return nil
	}
	return append(c.Comparison.accepted(), c.Comparison.MemorySentences()...)
}

// Others has the Sentences after those of Lead.
func (c *Arms) Others() []string {
	var out []string
	switch {
	case c.Refused != nil:
		out = append(out, c.Refused.sentence())
	case c.Comparison != nil:
		if len(c.Comparison.Memory) == 0 {
			out = c.Comparison.accepted()
		}
		out = append(out, c.Comparison.sentences()...)
	}
	out = append(out, c.NotCompared...)
	for _, f := range c.Facts {
		if text := f.difference(c.Names); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// sentence says in what the runs differ, and how they are compared nevertheless.
func (e *IncomparableError) sentence() string {
	var parts []string
	for _, k := range e.Keys {
		if slices.Contains(e.Differing, k.Name) {
			parts = append(parts, k.difference(e.Names))
		}
	}
	return fmt.Sprintf("Not comparable: %s; no ranking. With --accept %s they are compared all the same: "+
		"by evalctl compare, of the result files, or by evalctl replay.", strings.Join(parts, "; "), strings.Join(e.Differing, ","))
}

// accepted has a sentence for the differences that were accepted, if there are any.
func (c *Comparison) accepted() []string {
	var parts []string
	for _, k := range c.Keys {
		if k.Accepted {
			parts = append(parts, k.difference(c.names()))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Accepted, and what follows may come from it: %s.", strings.Join(parts, "; "))}
}

func (c *Comparison) names() []string {
	names := make([]string, len(c.Runs))
	for i, r := range c.Runs {
		names[i] = r.Name
	}
	return names
}

// difference says in what the runs of these names differ: "mode differs (go bm25, py hybrid)".
func (k *Key) difference(names []string) string {
	parts := make([]string, len(k.Values))
	for i, v := range k.Values {
		parts[i] = names[i] + " " + ValueText(v)
	}
	return fmt.Sprintf("%s differs (%s)", k.Name, strings.Join(parts, ", "))
}

// Common returns the value that runs have in common which record the key, empty if no run does, if
// runs differ, or if the only runs that record it are baselines.
func (k *Key) Common() string {
	for _, v := range k.Values {
		if v != "" && v != noMemory && k.State == Same {
			return v
		}
	}
	return ""
}

// ValueText returns the value of a key for people, with hashes shortened.
func ValueText(value string) string {
	if value == "" {
		return "not recorded"
	}
	words := strings.Split(value, " ")
	for i, w := range words {
		if len(w) == 64 && strings.Trim(w, "0123456789abcdef") == "" {
			words[i] = w[:8] + "…"
		}
	}
	return strings.Join(words, " ")
}
