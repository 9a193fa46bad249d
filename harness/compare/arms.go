package compare

import (
	"errors"
	"fmt"

	"evalctl/harness/key"
)

// Arm is one arm of a replay.
type Arm struct {
	Name string
	// Path is the result file, empty if the arm has none.
	Path string
}

// Arms compares the arms of one replay. Comparison and Refused are nil if fewer than two arms
// finished. Its strings come from results and datasets: renderers must escape them.
type Arms struct {
	// Names are the arms in the order given, which is also the order of Fact.Values.
	Names []string `json:"arms"`
	// Comparison compares the arms that finished.
	Comparison *Comparison `json:"comparison"`
	// Refused lists the differences that matter and were not accepted. If it is set, the arms are
	// not ranked.
	Refused *key.IncomparableError `json:"incomparable"`
	// NotCompared says which arms are not compared and why, one sentence each.
	NotCompared []string `json:"not_compared"`
	// Facts were recorded for each arm besides its results.
	Facts []Fact `json:"facts"`
}

// OfArms compares the arms that finished, as Compare does with the same options. NotCompared names
// each arm that is left out, with the reason: it stopped early, or its result cannot be read or
// compared.
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
	opts.For = key.Arms
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
		err = fmt.Errorf("%s is not the result of a replay", a.Path)
	}
	return run, err
}

// Sentences returns the main findings: whether the arms are comparable, what memory adds over the
// baselines, which arms differ and by how much, and which recorded facts differ.
func (c *Arms) Sentences() []string { return append(c.Lead(), c.Others()...) }

// Lead has the first of Sentences, what memory adds over baselines, with the differences that were
// accepted. It is empty without a baseline.
func (c *Arms) Lead() []string {
	if c.Comparison == nil || len(c.Comparison.Memory) == 0 {
		return nil
	}
	return append(c.accepted(), c.Comparison.MemorySentences()...)
}

// Others has the Sentences after those of Lead.
func (c *Arms) Others() []string {
	out := c.findings()
	for _, f := range c.Facts {
		if text := f.difference(c.Names); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (c *Arms) findings() []string {
	var out []string
	switch {
	case c.Refused != nil:
		out = append(out, fmt.Sprintf("Not comparable: %s; no ranking. With %s they are compared all the same: "+
			"by evalctl compare, of the result files, or by evalctl replay.", c.Refused.Reasons(), c.Refused.Accept()))
	case c.Comparison != nil:
		if len(c.Comparison.Memory) == 0 {
			out = c.accepted()
		}
		out = append(out, c.Comparison.sentences()...)
	}
	return append(out, c.NotCompared...)
}

func (c *Arms) accepted() []string {
	if text := c.Comparison.Accepted(); text != "" {
		return []string{text}
	}
	return nil
}

// Accepted describes the accepted differences between the runs, empty if there are none.
func (c *Comparison) Accepted() string { return key.Accepted(c.names(), c.Keys) }

func (c *Comparison) names() []string {
	names := make([]string, len(c.Runs))
	for i, r := range c.Runs {
		names[i] = r.Name
	}
	return names
}
