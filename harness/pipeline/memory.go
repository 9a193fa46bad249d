package pipeline

import (
	"evalctl/harness/journal"
	"evalctl/harness/result"
)

// Memory is the Keeper of a run without a journal. It stores only earlier tries, and answers that
// wait for a grade. As with a journal, entries of different questions can be used concurrently.
type Memory struct {
	records []*result.Record // nil for questions that have none to be kept
	states  []journal.State
	calls   journal.Calls
}

// NewMemory returns a Keeper for n questions. earlier has the records of questions to retry, which
// are finished. What their verdicts cost is not in Unassigned.
func NewMemory(n int, earlier map[int]result.Record) *Memory {
	m := &Memory{records: make([]*result.Record, n), states: make([]journal.State, n)}
	for i, rec := range earlier {
		m.records[i], m.states[i] = &rec, journal.State{Answered: true, Finished: true, Outage: rec.Outage()}
	}
	return m
}

// State implements Keeper.
func (m *Memory) State(question int) journal.State { return m.states[question] }

// Record implements Keeper.
func (m *Memory) Record(question int) (result.Record, error) { return *m.records[question], nil }

// Append implements Keeper.
func (m *Memory) Append(entries ...journal.Entry) error {
	for _, e := range entries {
		m.calls.Add(e)
		switch {
		case e.Record == nil:
		case e.Finishes():
			m.records[e.Index], m.states[e.Index] = nil, journal.State{}
		default:
			again := e.Kind == journal.KindReopened && e.Record.Outcome != result.Unscored
			m.records[e.Index], m.states[e.Index] = e.Record, journal.State{Answered: !again, Reopened: again}
		}
	}
	return nil
}

// Sync implements Keeper.
func (m *Memory) Sync() error { return nil }

// Unassigned implements Keeper.
func (m *Memory) Unassigned() []result.JudgeCall { return m.calls.Unassigned() }
