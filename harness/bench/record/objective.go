package record

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/internal/decimal"
	"evalctl/internal/stats"
)

// Objective is a required bound on a figure, such as search.p99 < 50 ms.
type Objective struct {
	Op     string // empty for every operation
	Figure string // p50, p90, p99, p99.9, max, mean, first-delta (its p99), errors or rate
	More   bool   // the figure must be above Limit, not below
	Limit  float64
	text   string
	// except lists operations with an objective of their own, which this one does not cover.
	except []string
	// implied is set if the user did not write the objective.
	implied bool
}

func (o Objective) String() string { return o.text }

var objectiveForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:([a-z]+)\.)?(p50|p90|p99|p99\.9|max|mean|first-delta|errors|rate)\s*([<>])\s*([0-9.]+)\s*([a-zµ%/]*)$`)
})

// ParseObjectives parses comma-separated objectives: p99<50ms,errors<0.1%,rate>100/s. A prefix
// restricts an objective to one operation: search.p99<50ms.
func ParseObjectives(text string) ([]Objective, error) {
	var out []Objective
	for part := range strings.SplitSeq(text, ",") {
		o, err := parseObjective(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func parseObjective(text string) (Objective, error) {
	m := objectiveForm().FindStringSubmatch(text)
	if m == nil {
		return Objective{}, fmt.Errorf("objective %q: write FIGURE<VALUE, such as p99<50ms, search.p50<10ms, errors<0.1%% or rate>100/s; "+
			"figures are p50, p90, p99, p99.9, max, mean, first-delta, errors and rate", text)
	}
	o := Objective{Op: m[1], Figure: m[2], More: m[3] == ">", text: text}
	var err error
	switch o.Figure {
	case "errors":
		o.Limit, err = decimal.Parse(m[4])
		if m[5] == "%" {
			o.Limit /= 100
		} else if m[5] != "" {
			err = fmt.Errorf("a share is a number or a percentage")
		}
	case "rate":
		o.Limit, err = decimal.Parse(m[4])
		if m[5] != "" && m[5] != "/s" {
			err = fmt.Errorf("a rate is in requests a second, such as 100/s")
		}
	default:
		var d time.Duration
		if d, err = time.ParseDuration(m[4] + m[5]); err != nil {
			err = fmt.Errorf("a time has a unit, such as 50ms or 1.5s")
		}
		o.Limit = float64(d) / float64(time.Millisecond)
	}
	if err != nil {
		return Objective{}, fmt.Errorf("objective %q: %w", text, err)
	}
	if o.More != (o.Figure == "rate") {
		return Objective{}, fmt.Errorf("objective %q: a rate has a least value (rate>100/s), all else a highest one (<)", text)
	}
	return o, nil
}

// Served is the error share from which an operation counts as not served, unless an objective sets
// another. Without it, a service that answers a few requests fast and fails the rest would keep its
// objectives.
const Served = 0.01

// withErrors adds the error objective for operations without one.
func withErrors(objectives []Objective) []Objective {
	implied := Objective{Figure: "errors", Limit: Served, text: fmt.Sprintf("errors<%g%%", 100*Served), implied: true}
	for _, o := range objectives {
		switch {
		case o.Figure != "errors":
		case o.Op == "" || o.Op == All:
			return objectives
		default:
			implied.except = append(implied.except, o.Op)
		}
	}
	return append(slices.Clip(objectives), implied)
}

// value returns the figure of an operation, NaN if there are too few requests. It is +Inf if the
// figure falls on a failed request; a mean is +Inf if the operation is not served.
func (o Objective) value(f OpFigures) float64 {
	t := f.Latency
	switch o.Figure {
	case "errors":
		return f.ErrorShare
	case "rate":
		return f.Rate.Value
	case "max":
		if f.OK < f.Offered {
			return math.Inf(1)
		}
	case "mean":
		if f.ErrorShare >= Served {
			return math.Inf(1)
		}
	case "first-delta":
		t = f.FirstDelta
		fallthrough
	default:
		if f.Never(o.quantile()) {
			return math.Inf(1)
		}
	}
	if t == nil {
		return math.NaN()
	}
	switch o.Figure {
	case "max":
		return t.Max
	case "mean":
		return t.Mean
	}
	if q := t.list()[slices.Index(quantiles, o.quantile())]; q != nil {
		return q.Value
	}
	return math.NaN()
}

// quantile returns the quantile that the figure is, 0 if it is not one.
func (o Objective) quantile() float64 {
	return map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "first-delta": 0.99, "p99.9": 0.999}[o.Figure]
}

// Never reports whether a quantile falls on a failed request. It is false if there are too few
// requests to tell.
func (f OpFigures) Never(p float64) bool {
	return f.Offered >= int64(stats.QuantileCIMin(p, confidence)) && rankOf(p, f.Offered) > f.OK
}

// held reports whether a value keeps the objective. NaN does not.
func (o Objective) held(v float64) bool {
	if o.More {
		return v > o.Limit
	}
	return v < o.Limit
}

// applies reports whether the objective covers an operation. A rate covers the sum of a mix, and a
// first delta only operations that stream.
func (o Objective) applies(f OpFigures, ops int) bool {
	switch {
	case slices.Contains(o.except, f.Op):
		return false
	case o.Op != "":
		return f.Op == o.Op
	case o.Figure == "rate":
		return f.Op == All || ops == 1
	case o.Figure == "first-delta":
		return f.FirstDelta != nil
	}
	return f.Op != All
}

// Verdict says whether one requirement holds.
type Verdict struct {
	// Require is the objective, or another requirement: baseline, compare or lost.
	Require string `json:"require"`
	Target  int    `json:"target"`
	Stage   int    `json:"stage"`
	Size    int    `json:"size"`
	Op      string `json:"op,omitempty"`
	// Value is nil if unknown.
	Value *float64 `json:"value"`
	Held  bool     `json:"held"`
	// Unjudged is set if the machines differ too much for a verdict.
	Unjudged bool   `json:"unjudged,omitempty"`
	Sentence string `json:"sentence"`
}

// judge sets Verdicts.
func (f *File) judge() {
	objectives, _ := ParseObjectives(f.Plan.Objectives) // checked before the bench
	if len(objectives) > 0 {
		objectives = withErrors(objectives)
	}
	for _, s := range f.Summaries {
		if f.Targets[s.Target].Null && len(f.Targets) > 1 {
			continue
		}
		for _, o := range objectives {
			f.judgeObjective(s, o)
		}
	}
	f.judgeFaults()
	f.judgeBaseline()
	if f.Plan.FailOver > 0 && f.Baseline == nil && len(f.Comparisons) > 0 && f.Stopped == "" {
		v := Verdict{Require: "compare", Held: true, Sentence: "no target was shown to be slower by more than allowed"}
		if c := f.worst(f.Plan.FailOver); c != nil {
			v.Target, v.Stage, v.Size, v.Op, v.Held = c.Target, c.Stage, c.Size, c.Op, false
			v.Value = finite(c.slowdown())
			v.Sentence = fmt.Sprintf("%s is slower than %s: %s %s ×%.2f, and ×%.2f is allowed",
				f.Targets[c.Target].Name, f.Targets[c.Reference].Name, c.Op, c.Figure, c.slowdown(), 1+f.Plan.FailOver)
		}
		f.Verdicts = append(f.Verdicts, v)
	}
}

func (f *File) judgeObjective(s Summary, o Objective) {
	found := false
	for _, op := range s.Ops {
		if !o.applies(op, len(s.Ops)) {
			continue
		}
		found = true
		value := o.value(op)
		v := Verdict{
			Require: o.text, Target: s.Target, Stage: s.Stage, Size: s.Size, Op: op.Op, Value: finite(value), Held: o.held(value),
			Sentence: fmt.Sprintf("%s %s: %s", f.Targets[s.Target].Name, op.Op, o.describe(value, op.ErrorShare)),
		}
		f.Verdicts = append(f.Verdicts, v)
	}
	if !found && !o.implied {
		f.Verdicts = append(f.Verdicts, Verdict{
			Require: o.text, Target: s.Target, Stage: s.Stage, Size: s.Size,
			Sentence: fmt.Sprintf("%s: %s is about nothing that was measured", f.Targets[s.Target].Name, o.text),
		})
	}
}

// describe compares the value with the objective in words, with the error share where it matters.
func (o Objective) describe(v, errors float64) string {
	switch {
	case math.IsNaN(v):
		return fmt.Sprintf("%s is not known from so few requests (required: %s)", o.Figure, o.text)
	case math.IsInf(v, 1):
		return fmt.Sprintf("%s is not known: %.3g %% of the requests failed, which count as slower than any (required: %s)", o.Figure, 100*errors, o.text)
	}
	shown := fmt.Sprintf("%.4g ms", v)
	switch o.Figure {
	case "errors":
		shown = fmt.Sprintf("%.3g %%", 100*v)
	case "rate":
		shown = fmt.Sprintf("%.4g/s", v)
	}
	if o.implied {
		return fmt.Sprintf("errors is %s (allowed: %s, unless an objective says another share)", shown, o.text)
	}
	return fmt.Sprintf("%s is %s (required: %s)", o.Figure, shown, o.text)
}

// Keeps reports whether a block keeps all objectives. It is false while the queue grows, because
// the rate could not be sustained. Operations with too few requests for a figure are ignored, but
// at least one must have enough.
func Keeps(objectives []Objective, b Block) bool {
	s := summarise([]Block{b})
	return len(objectives) > 0 && !b.Grows() && !slices.ContainsFunc(withErrors(objectives), func(o Objective) bool {
		known, kept := o.implied, true
		for _, op := range s.Ops {
			if v := o.value(op); o.applies(op, len(s.Ops)) && !math.IsNaN(v) {
				known, kept = true, kept && o.held(v)
			}
		}
		return !known || !kept
	})
}

// streams is the operation whose replies are streams.
const streams = "ask"

// Need returns how many requests of a mix are needed to know all objectives, for each operation
// that they cover. It is infinite if the mix lacks such an operation. The number of an operation's
// requests is random in a mix and with Poisson arrivals; it is large enough up to four standard
// deviations.
func Need(objectives []Objective, mix []Share, poisson bool) (requests float64) {
	all := 0.0
	for _, s := range mix {
		all += s.Weight
	}
	for _, o := range objectives {
		p := o.quantile()
		if p == 0 {
			continue
		}
		share := 0.0 // of the rarest operation
		for _, s := range mix {
			if o.Op == s.Op || o.Op == "" && (o.Figure != "first-delta" || s.Op == streams) {
				share = min(cmp.Or(share, 1), s.Weight/all)
			}
		}
		if o.Op == All {
			share = 1
		}
		n := float64(stats.QuantileCIMin(p, confidence))
		if share < 1 || poisson {
			n = math.Pow(2+math.Sqrt(n+4), 2) // minus 4 times its square root, that is n
		}
		requests = max(requests, n/share)
	}
	return requests
}

// judgeFaults requires that no acknowledged write was lost.
func (f *File) judgeFaults() {
	for _, x := range f.Faults {
		v := Verdict{
			Require: "lost", Target: x.Target, Held: x.Lost == 0, Value: finite(float64(x.Lost)),
			Sentence: fmt.Sprintf("%s: %d of %d acknowledged writes that were checked are lost after %s",
				f.Targets[x.Target].Name, x.Lost, x.Checked, x.Kind),
		}
		if x.RecoverySeconds == nil {
			v.Held = false
			v.Sentence += fmt.Sprintf(", and no request succeeded after %s", x.Kind)
		}
		f.Verdicts = append(f.Verdicts, v)
	}
}
