package audit

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/visible"
)

// margin is the largest negligible gain of a memory, as in a gate against a baseline.
const margin = 0.03

// context answers whether the full context does as well as the memory.
func (a *Audit) context() Finding {
	f := Finding{
		Command: "evalctl replay --dataset BENCHMARK --sdk NAME --without-memory full-context --model MODEL --judge MODEL",
		Cannot:  "Without a result of the baseline full-context by the same reader and judge, what memory adds is not known. The reader and the judge of imported results are what their files say.",
	}
	for _, base := range a.of(result.FullContext) {
		name := "the whole context"
		if r := base.Result.Replay; r != nil {
			name = wording.ContextName(r.Context)
		}
		for _, s := range a.Subjects {
			if s.Result.Identity.Scenario.Baseline() {
				continue
			}
			says, text := againstContext(s, base)
			f.found(says, "%s less %s: %s.", s.Name, name, text)
		}
	}
	return f
}

// againstContext says how a memory does against the full context, as evalctl compare tests it. In
// whatever they differ, such as in the reader of imported answers, they are compared.
func againstContext(s, base Subject) (Answer, string) {
	runs, err := compare.OpenAll([]string{base.Path, s.Path})
	if err != nil {
		return Unknown, err.Error()
	}
	c, err := compare.Compare(runs, compare.Options{Baseline: base.Path, Intersect: true, Accept: key.Names(key.Compare)})
	if err != nil {
		return Unknown, err.Error()
	}
	t := c.Pairs[0].Table
	if t.Difference == nil {
		return Unknown, "no question has a verdict in both"
	}
	over := figure.Count(t.N, "question")
	if t.Clusters > 0 {
		over += " in " + figure.Count(t.Clusters, "cluster")
	}
	if t.Interval == nil || t.P == nil {
		return Unknown, fmt.Sprintf("%s pp over %s, which determine no interval", figure.Points(*t.Difference), over)
	}
	d := difference{*t.Difference, t.Interval.Low, t.Interval.High}
	says, text := Unknown, "too few questions to say"
	switch {
	case d.low > 0:
		says, text = NotShown, "the memory is better"
	case d.high <= margin:
		says, text = Shown, "the memory gains less than 3 points"
	}
	method, known := wording.Method(strings.TrimSuffix(t.Test, "_exact"))
	if !known {
		method = "McNemar, exact"
	}
	return says, fmt.Sprintf("%s over %s, p %.3g (%s): %s", d, over, *t.P, method, text)
}

// of returns the subjects of a scenario.
func (a *Audit) of(scenario result.Scenario) (out []Subject) {
	for _, s := range a.Subjects {
		if s.Result.Identity.Scenario == scenario {
			out = append(out, s)
		}
	}
	return out
}

// recall answers whether a retrieval rate is presented as an answer rate.
func (a *Audit) recall() Finding {
	f := Finding{
		Header:  []string{"file", "questions with gold found", "answers that passed", "found and failed", "passed without gold"},
		Command: "evalctl run --sdk NAME --scorer judge --judge MODEL, and the same with --scorer retrieval",
		Cannot:  "Files that do not record retrieved passages say nothing about recall.",
	}
	for _, s := range a.Subjects {
		var found, passed share
		lost, guessed, unjudged := 0, 0, 0
		for i, r := range s.Records {
			if r.Retrieval == nil {
				continue
			}
			if r.Outcome != result.Scored {
				if r.Outcome == result.Unjudged {
					unjudged++
				}
				continue
			}
			hit := r.GoldRank() > 0
			found.add(hit, s.cluster(i))
			passed.add(r.Passed, s.cluster(i))
			switch {
			case hit && !r.Passed:
				lost++
			case !hit && r.Passed:
				guessed++
			}
		}
		switch {
		case s.Result.Identity.Scorer == "retrieval":
			f.found(Shown, "%s: its pass rate is recall, and no answer was judged.", s.Name)
		case found.n == 0 && unjudged > 0:
			f.found(Unknown, "%s has no verdicts on its %s with retrieved passages: evalctl rescore --scorer judge judges them.",
				s.Name, figure.Count(unjudged, "answer"))
			continue
		case found.n == 0:
			f.found(Unknown, "%s does not record the retrieved passages.", s.Name)
			continue
		default:
			says := NotShown
			if lost > 0 {
				says = Shown
			}
			f.found(says, "%s: gold was found for %d of %d questions, %d passed: recall less the pass rate is %s pp.", s.Name,
				found.hits, found.n, passed.hits, figure.Points(found.rate()-passed.rate()))
		}
		f.Rows = append(f.Rows, []string{s.Name, found.String(), passed.String(), fmt.Sprint(lost), fmt.Sprint(guessed)})
	}
	return f
}

// trivial answers whether the benchmark needs no memory.
func (a *Audit) trivial() Finding {
	f := Finding{
		Header:  []string{"file", "gold stands in the question", "gold is yes or no"},
		Command: "evalctl replay --dataset BENCHMARK --without-memory no-memory --model MODEL --judge MODEL",
		Cannot:  "What a model knows of a published benchmark: only the baseline no-memory measures it.",
	}
	for _, base := range a.of(result.NoMemory) {
		rate := base.passed(func(r result.Record) bool { return r.Outcome.Counts() })
		says := NotShown
		if rate.hits > 0 {
			says = Shown
		}
		f.found(says, "Without a memory %s passes %s.", base.Name, rate)
	}
	for _, s := range a.Subjects {
		for _, w := range s.Result.Trivial() {
			if w.Kind == result.TopKCoversBrain || w.Kind == result.AllGold {
				f.found(Shown, "%s: %s.", s.Name, w.Message)
			}
		}
		var within, binary share
		for i, r := range s.Records {
			if r.Reference == "" {
				continue
			}
			gold := visible.Words(r.Reference)
			within.add(gold != "" && strings.Contains(" "+visible.Words(r.Question)+" ", " "+gold+" "), s.cluster(i))
			binary.add(slices.Contains([]string{"yes", "no", "yes.", "no.", "true", "false"}, gold), s.cluster(i))
		}
		if within.n == 0 {
			f.found(Unknown, "%s has no golds.", s.Name)
			continue
		}
		f.Rows = append(f.Rows, []string{s.Name, within.String(), binary.String()})
		says := NotShown
		if within.hits > 0 {
			says = Shown
		}
		f.found(says, "%s: the gold of %d of %d questions stands in the question, and %d are answered by yes or no.", s.Name, within.hits, within.n, binary.hits)
	}
	return f
}

// tuned answers whether the key was in the memory, or the system was tuned on the questions.
func (a *Audit) tuned() Finding {
	f := Finding{
		Header:  []string{"file", "answers that are the gold, word for word", "of them longer than 4 words", "passages that have question and gold"},
		Command: "evalctl verify audit FILE --public IDS, with the ids of the questions that the authors could see",
		Cannot:  "An answer may be the gold by skill: short golds are. Files without retrieved passages do not show what the memory held. Without --public, tuning on the questions cannot be seen.",
	}
	for _, s := range a.Subjects {
		var same, long, stored share
		for i, r := range s.Records {
			if r.Outcome.Answered() && r.Reference != "" {
				equal := visible.Words(r.Answer) == visible.Words(r.Reference)
				same.add(equal, s.cluster(i))
				long.add(equal && len(strings.Fields(r.Reference)) > 4, s.cluster(i))
			}
			if len(r.Retrieved) > 0 && r.Reference != "" {
				stored.add(slices.ContainsFunc(r.Retrieved, func(c result.Chunk) bool {
					text := visible.Words(c.Text)
					return strings.Contains(text, visible.Words(r.Question)) && strings.Contains(text, visible.Words(r.Reference))
				}), s.cluster(i))
			}
		}
		if same.n == 0 {
			f.found(Unknown, "%s has no golds.", s.Name)
		} else {
			f.Rows = append(f.Rows, []string{s.Name, same.String(), fmt.Sprint(long.hits), stored.String()})
			f.found(NotShown, "%s: %d of %d answers are the gold word for word, %d of them longer than four words.", s.Name, same.hits, same.n, long.hits)
		}
		for _, w := range s.Result.Trivial() {
			if w.Kind == result.KeyInMemory {
				f.found(NotShown, "%s: %s.", s.Name, w.Message)
			}
		}
		if stored.hits > 0 {
			f.found(Shown, "%s: for %d of %d questions a retrieved passage has the question and its gold word for word.", s.Name, stored.hits, stored.n)
		}
		public, held := s.split(func(r result.Record) bool { return a.public != nil && scored(r) },
			func(r result.Record) bool { return a.public[r.ID] })
		if d, ok := public.less(held); ok {
			says := NotShown
			if d.low > 0 {
				says = Shown
			}
			f.found(says, "%s: %s on the public questions, %s on the others: %s.", s.Name, public, held, d)
		}
	}
	return f
}
