package compare

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// Claim is a statement about one tested figure of a pair.
type Claim struct {
	// Measure is one of Measures.
	Measure string
	Primary bool
	Verdict Verdict
	// Text has the difference, its interval and the adjusted p-value.
	Text string
}

// Shown reports whether the claim is that the runs differ.
func (k Claim) Shown() bool { return k.Verdict == Better || k.Verdict == Worse }

// Words returns the verdict in words.
func (k Claim) Words() string {
	if slices.Contains(measureNames[measureTotal:], k.Measure) {
		return k.Verdict.Speed()
	}
	return k.Verdict.Words()
}

// MeasureName returns the display name of a measure. For an unknown measure ok is false and name is
// the measure as read from the file, which must be escaped.
func MeasureName(measure string) (name string, ok bool) {
	switch latency, isLatency := LatencyName(measure); {
	case isLatency:
		return "latency, " + latency, true
	case slices.Contains(Measures(), measure):
		return strings.ReplaceAll(measure, "_", " "), true
	}
	return measure, false
}

// Claims returns the claims about a pair over all questions, primary measures first.
func (c *Comparison) Claims(p *Pair) []Claim {
	var out []Claim
	add := func(measure string, v Verdict, text string) {
		out = append(out, Claim{Measure: measure, Primary: slices.Contains(c.Primary, measure), Verdict: v, Text: text})
	}
	if p.Difference != nil && p.P != nil {
		add(passRate, p.Verdict, figures(figure.Points(*p.Difference)+" pp", p.Interval, figure.Points, p.Adjusted))
	}
	for _, m := range p.Measures {
		add(m.Name, m.Verdict, figures(signed(m.Difference), m.Interval, signed, &m.Adjusted))
	}
	for _, l := range p.Latencies {
		if l.P != nil {
			add(l.Name, l.Verdict, figures(times(l.Ratio), l.Interval, times, l.Adjusted))
		}
	}
	slices.SortStableFunc(out, func(x, y Claim) int {
		switch {
		case x.Primary == y.Primary:
			return 0
		case x.Primary:
			return -1
		}
		return 1
	})
	return out
}

// PrimaryClaims returns the Claims about primary measures.
func (c *Comparison) PrimaryClaims(p *Pair) []Claim {
	return slices.DeleteFunc(c.Claims(p), func(k Claim) bool { return !k.Primary })
}

// PrimaryText names the primary measures.
func (c *Comparison) PrimaryText() string {
	names := make([]string, len(c.Primary))
	for i, measure := range c.Primary {
		names[i], _ = MeasureName(measure)
	}
	return strings.Join(names, ", ")
}

func signed(v float64) string { return fmt.Sprintf("%+.3f", v) }

func times(v float64) string { return fmt.Sprintf("×%.2f", v) }

// figures formats a difference with its interval and adjusted p-value.
func figures(difference string, within *result.Interval, end func(float64) string, adjusted *float64) string {
	if within != nil {
		difference += fmt.Sprintf(" (%s interval %s to %s)", wording.Level(within), end(within.Low), end(within.High))
	}
	if adjusted != nil {
		difference += ", p " + figure.Probability(*adjusted) + " adjusted"
	}
	return difference
}

// Untested returns an error, wrapping key.ErrIncomparable, if a comparison with the baseline says
// nothing of a regression: a result is not a score, or no question has a verdict in both.
func (c *Comparison) Untested() error {
	for _, r := range c.Runs {
		if r.Invalid != "" {
			return fmt.Errorf("%w: %s is not a score (%s): evaluate it again", key.ErrIncomparable, r.Name, r.Invalid)
		}
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if c.Headlined(p) && len(c.PrimaryClaims(p)) == 0 && p.Margin == nil {
			return fmt.Errorf("%w: no question has a %s of both %s and %s", key.ErrIncomparable, c.PrimaryText(),
				c.Runs[p.Reference].Name, c.Runs[p.Run].Name)
		}
	}
	return nil
}

// Regression returns an error that names the runs that are worse than the baseline, as Worsens
// says, and how, nil if there are none.
func (c *Comparison) Regression() error {
	var worse, why []string
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if c.MeasuredWorse(p) {
			worse = append(worse, c.Runs[p.Run].Name)
		}
		if len(p.LeakedIDs) > 0 {
			why = append(why, c.LeakText(p))
		}
	}
	if len(worse) > 0 {
		are := "is"
		if len(worse) > 1 {
			are = "are"
		}
		why = slices.Insert(why, 0, fmt.Sprintf("%s %s worse than %s", strings.Join(worse, ", "), are, c.Baseline))
	}
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("regression: %s", strings.Join(why, "; "))
}

// Worsens reports whether the run of a pair is worse than its reference: by what was measured,
// or because a forbidden text came back that did not before.
func (c *Comparison) Worsens(p *Pair) bool { return len(p.LeakedIDs) > 0 || c.MeasuredWorse(p) }

// MeasuredWorse reports whether the run of a pair is worse than its reference by a primary
// measure, or by more than the margin.
func (c *Comparison) MeasuredWorse(p *Pair) bool {
	return p.Margin != nil && p.Margin.Verdict == result.Worse ||
		slices.ContainsFunc(c.PrimaryClaims(p), func(k Claim) bool { return k.Verdict == Worse })
}

// LeakText says that the run of a pair has LeakedIDs.
func (c *Comparison) LeakText(p *Pair) string {
	return fmt.Sprintf("forbidden texts came back in %s of %s but not of %s, such as %s",
		figure.Count(len(p.LeakedIDs), "question"), c.Runs[p.Run].Name, c.Runs[p.Reference].Name, p.LeakedIDs[0])
}
