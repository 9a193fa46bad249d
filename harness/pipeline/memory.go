package pipeline

import (
	"evalctl/harness/journal"
	"evalctl/harness/result"
)

// Memory is the Keeper of a run without a journal. It stores only the answers that wait for a
// grade. As with a journal, entries of different questions can be used concurrently.
type Memory struct {
	waiting []*result.Record
	// reopened marks earlier tries to be asked again, with the earlier record in waiting.
	reopened []bool
	calls    journal.Calls
}

// NewMemory returns a Keeper for n questions. earlier has the records of questions to retry.
func NewMemory(n int, earlier map[int]result.Record) *Memory {
	m := &Memory{waiting: make([]*result.Record, n), reopened: make([]bool, n)}
	for i, rec := range earlier {
		if m.reopened[i] = !rec.Outcome.Answered(); !m.reopened[i] {
			rec = rec.JudgeAgain()
		}
		m.waiting[i] = &rec
	}
	return m
}

// State implements Keeper.
func (m *Memory) State(question int) journal.State {
	waits := m.waiting[question] != nil
	return journal.State{Answered: waits && !m.reopened[question], Reopened: waits && m.reopened[question]}
}

// Record implements Keeper.
func (m *Memory) Record(question int) (result.Record, error) { return *m.waiting[question], nil }

// Append implements Keeper.
func (m *Memory) Append(entries ...journal.Entry) error {
	for _, e := range entries {
		m.calls.Add(e)
		if e.Record != nil {
			m.reopened[e.Index] = false
		}
		switch {
		case e.Kind == journal.KindAnswer && e.Record.Outcome != result.Errored:
			m.waiting[e.Index] = e.Record
		case e.Kind == journal.KindAnswer, e.Kind == journal.KindGrade:
			m.waiting[e.Index] = nil
		}
	}
	return nil
}

// Sync implements Keeper.
func (m *Memory) Sync() error { return nil }

// Unassigned implements Keeper.
func (m *Memory) Unassigned() []result.JudgeCall { return m.calls.Unassigned() }
