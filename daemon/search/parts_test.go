package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/stats"
)

// constant is a number of the ranking that was chosen from a few values.
type constant struct {
	name   string
	set    func(value float64)
	values []float64 // the first one switches the part off, or is that of a textbook
	chosen float64
}

// parts is the number of constants that belong to a part which can be left out.
const parts = 11

var constants = []constant{
	{"neighbours", func(v float64) { defaultWeights.neighbours = v }, []float64{0, .1, .2, .4}, .2},
	{"feedback, new words", func(v float64) { defaultWeights.feedback = v }, []float64{0, .1, .2, .4}, .2},
	{"feedback, own words", func(v float64) { defaultWeights.emphasis = v }, []float64{0, 1.5, 3, 6}, 3},
	{"dates", func(v float64) { defaultWeights.date = v }, []float64{0, .2, .4, .8}, .4},
	{"replies", func(v float64) { defaultWeights.reply = v }, []float64{0, .1, .2, .3, .4, .5}, .3},
	{"titles", func(v float64) { fieldWeights[titleField] = v }, []float64{0, 1, 2, 3}, 2},
	{"path", func(v float64) { fieldWeights[pathField] = v }, []float64{0, .25, .5, 1}, .25},
	{"length slack", func(v float64) { defaultParameters.slack = max(v, 1e-9) }, []float64{0, 5, 10, 20}, 10},
	{"length beyond the average", func(v float64) { defaultParameters.beyond = v }, []float64{1, .75, .5, .25}, .5},
	{"scope", func(v float64) { defaultParameters.scope = v }, []float64{0, .05, .1, .2}, .1},
	{"query term frequency, k3", func(v float64) { defaultParameters.k3 = v }, []float64{0, 2, 8, 32}, 8},
	{"b", func(v float64) { defaultParameters.b = v }, []float64{.75, .9, 1}, 1},
	{"k1", func(v float64) { defaultParameters.k1 = v }, []float64{1.2, 1.6, 2}, 1.6},
}

// collection is the tasks of one origin, between which constants are chosen.
type collection struct {
	name  string
	tasks []*measuredTask
}

// measuredTask is a task with its brains.
type measuredTask struct {
	task
	brains    map[string]*Index
	questions []neutralQuestion
}

// collections returns all tasks but locomo-turn in one brain, which has the same questions as the
// same with one brain for each conversation.
func collections(tb testing.TB) []collection {
	all := []collection{{name: "locomo"}, {name: "lme"}, {name: "cranfield"}, {name: "cisi"}, {name: "core"}, {name: "beam"}}
	for _, tk := range tasks[1:] {
		docs, questions := tk.load(tb)
		of := slices.IndexFunc(all, func(c collection) bool { return strings.HasPrefix(tk.name, c.name) })
		all[of].tasks = append(all[of].tasks, &measuredTask{tk, tk.index(docs, nil), questions})
	}
	docs, questions := beam(tb)
	all[len(all)-1].tasks = []*measuredTask{{beamTask, beamTask.index(docs, nil), questions}}
	return all
}

// measurements remembers what was measured, because every search for constants meets the same
// settings again.
type measurements struct {
	collections []collection
	done        map[string]map[string]measured // by setting and task
}

// at measures every task with the given values of the constants.
func (m *measurements) at(values []float64) map[string]measured {
	key := fmt.Sprint(values)
	if got := m.done[key]; got != nil {
		return got
	}
	weights, fields, params := defaultWeights, fieldWeights, defaultParameters
	defer func() { defaultWeights, fieldWeights, defaultParameters = weights, fields, params }()
	for i, c := range constants {
		c.set(values[i])
	}
	got := map[string]measured{}
	for _, c := range m.collections {
		for _, tk := range c.tasks {
			for _, ix := range tk.brains {
				ix.weights, ix.parameters = defaultWeights, defaultParameters
				for n := range ix.chunks {
					ix.extents[n] = ix.extent(&ix.chunks[n])
				}
			}
			got[tk.name] = tk.figures()
		}
	}
	m.done[key] = got
	return got
}

// figures returns the figures of each question.
func (tk *measuredTask) figures() (figures measured) {
	for _, q := range tk.questions {
		hits := tk.brains[tk.brainOf(q.Expected[0])].SearchInstead(Query{Text: q.Question, AsOf: q.AsOf, TopK: 50}).Hits
		var ranked []string
		for _, h := range hits {
			if !slices.Contains(ranked, h.Path) {
				ranked = append(ranked, h.Path)
			}
		}
		figures.add(ranked, q)
	}
	return figures
}

// score is what a choice of constants is judged by: the sum over the collections, except core, beam
// and the one that is left out, of the mean of R@10 and nDCG@10 of their tasks.
func (m *measurements) score(values []float64, leftOut string) float64 {
	got, sum := m.at(values), 0.
	for _, c := range m.collections {
		if c.name != leftOut && c.name != coreDir && c.name != "beam" {
			for _, tk := range c.tasks {
				sum += (mean(got[tk.name].recall) + mean(got[tk.name].ndcg)) / 2 / float64(len(c.tasks))
			}
		}
	}
	return sum
}

// choose returns the values with the best score, when only constant i varies.
func (m *measurements) choose(values []float64, i int, leftOut string) []float64 {
	best := values
	for _, v := range constants[i].values {
		changed := slices.Clone(values)
		changed[i] = v
		if m.score(changed, leftOut) > m.score(best, leftOut)+leastGain {
			best = changed
		}
	}
	return best
}

// leastGain is a gain for which a constant is changed: smaller ones are noise.
const leastGain = .0005

func shipped() []float64 {
	values := make([]float64, len(constants))
	for i, c := range constants {
		values[i] = c.chosen
	}
	return values
}

// BenchmarkParts prints a table. It shows for each part what it adds to R@10 and nDCG@10 of a
// collection when its constant is chosen on the others, core and beam excepted, and the rest is as it is.
// Intervals are over the questions (BCa, 10,000 resamples, seed 1).
func BenchmarkParts(b *testing.B) {
	for b.Loop() {
		m := &measurements{collections(b), map[string]map[string]measured{}}
		var table strings.Builder
		for i, part := range constants[:parts] {
			for _, c := range m.collections {
				values := m.choose(shipped(), i, c.name)
				constant := fmt.Sprint(values[i])
				if values[i] == part.values[0] {
					values = shipped()
					constant = fmt.Sprintf("%v; the others: %v", values[i], part.values[0])
				}
				off := slices.Clone(values)
				off[i] = part.values[0]
				with, without := m.at(values), m.at(off)
				for _, tk := range c.tasks {
					fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", part.name, tk.name, constant,
						adds(with[tk.name].recall, without[tk.name].recall), adds(with[tk.name].ndcg, without[tk.name].ndcg))
				}
			}
		}
		fmt.Printf("\n| part | task | constant | R@10 | nDCG@10 |\n|---|---|---|---|---|\n%s", table.String())
	}
}

// BenchmarkLeaveOneOut prints, for each collection, the figures that it has with the constants that
// are chosen on the others, core and beam excepted: beginning with those of a textbook, one after the other.
// They are chosen on every third question of LoCoMo, which has four times as many as the others.
func BenchmarkLeaveOneOut(b *testing.B) {
	for b.Loop() {
		all := &measurements{collections(b), map[string]map[string]measured{}}
		chosenOn := &measurements{collections(b), map[string]map[string]measured{}}
		for _, tk := range chosenOn.collections[0].tasks {
			tk.questions = everyNth(tk.questions, 0, 3)
		}
		var table strings.Builder
		for _, c := range all.collections {
			values := make([]float64, len(constants))
			for i := range constants {
				values[i] = constants[i].values[0]
			}
			for i := range constants {
				values = chosenOn.choose(values, i, c.name)
			}
			got, now := all.at(values), all.at(shipped())
			for _, tk := range c.tasks {
				fmt.Fprintf(&table, "| %s | %.3f %.3f | %.3f %.3f |", tk.name,
					mean(got[tk.name].recall), mean(got[tk.name].ndcg), mean(now[tk.name].recall), mean(now[tk.name].ndcg))
				for _, v := range values {
					fmt.Fprintf(&table, " %v", v)
				}
				table.WriteString(" |\n")
			}
		}
		fmt.Printf("\n| task | constants of the others | as it is | constants |\n|---|---|---|---|\n%s", table.String())
	}
}

// adds returns the mean difference with its interval.
func adds(with, without []float64) string {
	differences := make([]float64, len(with))
	for i := range with {
		differences[i] = with[i] - without[i]
	}
	lo, hi := stats.BCa(differences, 10_000, 1, .95)
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", mean(differences), lo, hi)
}
