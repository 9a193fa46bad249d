package history

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// TurnKind says how a question's outcome has changed.
type TurnKind string

// The kinds of turns. Only nights with a score in which the question has a verdict count; an error
// is a verdict.
const (
	// Broke means that the question passed at least SteadyNights nights in a row, and has failed in
	// all RecentNights or more nights since.
	Broke TurnKind = "broke"
	// Fixed is the reverse of Broke.
	Fixed TurnKind = "fixed"
	// Flaky means that the outcome has changed at least FlakyTurns times, or differed between
	// repeats, and has not been steady for SettledNights since.
	Flaky TurnKind = "flaky"
)

// The thresholds for turns.
const (
	SteadyNights  = 3
	RecentNights  = 2
	FlakyTurns    = 3
	SettledNights = 7
)

// Turn is a question whose outcome has changed or varies.
type Turn struct {
	Kind TurnKind `json:"kind"`
	ID   string   `json:"id"`
	// Since is the night when it began: the first failure of a broken question, the first pass of a
	// fixed one, the first change of a flaky one.
	Since string `json:"since"`
	// Nights counts the nights from Since, and Before the nights directly before with the other
	// outcome or, for a flaky question, all nights before.
	Nights int `json:"nights"`
	Before int `json:"before"`
	// States has a character for each night: + passed, - not passed, ~ some repeats.
	States string `json:"states"`
	// Dates are the nights of States.
	Dates []string `json:"dates"`
}

// The characters in Turn.States.
const (
	passed = '+'
	failed = '-'
	mixed  = '~'
)

// ReadQuestions reads the questions of all nights with a score and sets l.Questions and l.Unread.
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

// states returns the state of each judged question in a result file.
func states(path string) (map[string]rune, error) {
	r, err := resultfile.Open(path)
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

// judge sets the kind of a turn by its states, and the fields that depend on it.
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

// set sets the kind of a turn that happened in the question's night i.
func (t *Turn) set(kind TurnKind, i, before int) {
	t.Kind, t.Since, t.Nights, t.Before = kind, t.Dates[i], len(t.Dates)-i, before
	if kind == Flaky {
		t.Before = i
	}
}
