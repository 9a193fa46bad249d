package history

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/result"
)

// TurnKind says how a question has turned.
type TurnKind string

// The kinds of turns. A question's nights are those that have a score and in which the question has
// a verdict; an error is a verdict.
const (
	// Broke: it passed at least SteadyNights nights in a row, and has failed all RecentNights or more
	// since.
	Broke TurnKind = "broke"
	// Fixed: the reverse.
	Fixed TurnKind = "fixed"
	// Flaky: it has turned from passing to failing or back at least FlakyTurns times, or passed some
	// of its repeats and not others, and has not been steady for SettledNights since.
	Flaky TurnKind = "flaky"
)

// What the kinds of turns require.
const (
	SteadyNights  = 3
	RecentNights  = 2
	FlakyTurns    = 3
	SettledNights = 7
)

// Turn is a question whose outcome is not what it was, or not always the same.
type Turn struct {
	Kind TurnKind `json:"kind"`
	ID   string   `json:"id"`
	// Since is the date of the night from which on it is so: the first failure of a question that
	// broke, the first pass of one that was fixed, the first turn of a flaky one.
	Since string `json:"since"`
	// Nights counts the nights since then, Before those directly before in which it was otherwise,
	// or, for a flaky one, all before.
	Nights int `json:"nights"`
	Before int `json:"before"`
	// States has a sign for each night of the question: + passed, - not passed, ~ some repeats.
	States string `json:"states"`
	// Dates are those of the nights of States.
	Dates []string `json:"dates"`
}

// The signs of Turn.States.
const (
	passed = '+'
	failed = '-'
	mixed  = '~'
)

// ReadQuestions reads the questions of all nights that have a score and sets l.Questions and
// l.Unread.
func (l *Line) ReadQuestions() {
	read := make([]map[string]rune, len(l.Nights))
	errs := make([]error, len(l.Nights))
	var reading errgroup.Group
	reading.SetLimit(min(runtime.NumCPU(), 8))
	for i, n := range l.Nights {
		if !n.Entry.Scored() {
			continue
		}
		reading.Go(func() error {
			read[i], errs[i] = states(n.Entry.Path)
			return nil
		})
	}
	_ = reading.Wait() // each night has its error
	l.Questions, l.Unread = []Turn{}, []Unreadable{}
	histories := map[string]*Turn{}
	for i, n := range l.Nights {
		if errs[i] != nil {
			l.Unread = append(l.Unread, Unreadable{n.Entry.Path, errs[i].Error()})
			continue
		}
		for id, state := range read[i] {
			t := histories[id]
			if t == nil {
				t = &Turn{ID: id}
				histories[id] = t
			}
			t.States, t.Dates = t.States+string(state), append(t.Dates, n.Date)
		}
	}
	for _, t := range histories {
		if t.judge(); t.Kind != "" {
			l.Questions = append(l.Questions, *t)
		}
	}
	order := []TurnKind{Broke, Fixed, Flaky}
	slices.SortFunc(l.Questions, func(a, b Turn) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(b.Since, a.Since), cmp.Compare(a.ID, b.ID))
	})
}

// states returns the state of each question of a result file that has a verdict.
func states(path string) (map[string]rune, error) {
	r, err := result.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := map[string]rune{}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		if rec.Outcome != result.Scored && rec.Outcome != result.Errored {
			continue
		}
		state := failed
		if rec.Passed {
			state = passed
		}
		if before, ok := out[rec.ID]; ok && before != state {
			state = mixed
		}
		out[rec.ID] = state
	}
	return out, nil
}

// judge sets the kind of a question by its states, and what follows from it.
func (t *Turn) judge() {
	last := t.States[len(t.States)-1]
	recent := len(t.States) - len(strings.TrimRight(t.States, string(last)))
	before := t.States[:len(t.States)-recent]
	turns := strings.Count(t.States, string(mixed))
	first := strings.IndexByte(t.States, mixed)
	for i := range t.States[1:] {
		if a, b := t.States[i], t.States[i+1]; a != b && a != mixed && b != mixed {
			if turns++; first < 0 || i+1 < first {
				first = i + 1
			}
		}
	}
	steady := 0
	if before != "" {
		steady = len(before) - len(strings.TrimRight(before, before[len(before)-1:]))
	}
	some := strings.ContainsRune(t.States, mixed)
	switch {
	case (turns >= FlakyTurns || some) && (recent < SettledNights || last == mixed):
		t.set(Flaky, first, 0)
	case recent < RecentNights || steady < SteadyNights || before[len(before)-1] == mixed:
	case last == failed:
		t.set(Broke, len(before), steady)
	case last == passed:
		t.set(Fixed, len(before), steady)
	}
}

// set sets the kind of a turn that happened in night i of the question.
func (t *Turn) set(kind TurnKind, i, before int) {
	t.Kind, t.Since, t.Nights, t.Before = kind, t.Dates[i], len(t.Dates)-i, before
	if kind == Flaky {
		t.Before = i
	}
}
