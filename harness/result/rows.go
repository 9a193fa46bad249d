package result

import (
	"maps"
	"slices"

	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// TagRow is a tag or a check as shown in all forms of a report.
type TagRow struct {
	Tag string
	TagFigures
	// Floor is nil for a tag without one.
	Floor *TagGate
}

// TagRows returns the tags shown in reports: first the tags that are no Duplicate or have a floor,
// in order, then tags with a floor that no question has.
func (r *Result) TagRows() (rows []TagRow) {
	var gates []TagGate
	if r.Gate != nil {
		gates = r.Gate.Tags
	}
	floors := map[string]*TagGate{}
	for i := range gates {
		floors[gates[i].Tag] = &gates[i]
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		if f := r.Tags[tag]; f != nil && (floors[tag] != nil || !r.Duplicate(tag)) {
			rows = append(rows, TagRow{tag, *f, floors[tag]})
		}
	}
	for _, g := range gates {
		if r.Tags[g.Tag] == nil {
			rows = append(rows, TagRow{Tag: g.Tag, Floor: floors[g.Tag]})
		}
	}
	return rows
}

// CheckRows returns the figures by check, in order of the labels.
func (r *Result) CheckRows() (rows []TagRow) {
	for _, label := range slices.Sorted(maps.Keys(r.Checks)) {
		if f := r.Checks[label]; f != nil {
			rows = append(rows, TagRow{Tag: label, TagFigures: *f})
		}
	}
	return rows
}

// Timing is a latency as shown in all forms of a report.
type Timing struct {
	Name string
	Quantiles
	// Of returns the time of a question, nil if it has none.
	Of func(*Record) *float64
}

// Timings returns the latencies of the answered questions.
func (r *Result) Timings() (out []Timing) {
	for _, t := range []struct {
		name string
		q    *Quantiles
		of   func(*Record) *float64
	}{
		{"first token", &r.FirstDelta, func(q *Record) *float64 { return q.FirstDeltaMS }},
		{"done", &r.Latency, (*Record).Took},
		{"done, with waits", r.Felt, (*Record).Felt},
	} {
		if t.q != nil && t.q.N > 0 {
			out = append(out, Timing{t.name, *t.q, t.of})
		}
	}
	return out
}

// FeltNote explains the latencies of a run that has Felt.
const FeltNote = "Times are those of the answering attempts; with waits, failed attempts and the pauses between them are included."

// TimingNotes returns notes about the latencies. A note may contain a message of a daemon.
func (r *Result) TimingNotes() (notes []string) {
	if r.Replay != nil && r.Replay.Together != nil {
		notes = append(notes, r.Replay.Together.Text()+".")
	}
	if r.Replay != nil && r.Replay.Alone != nil {
		notes = append(notes, "Alone: "+r.Replay.Alone.Text()+".")
	}
	if r.Retried > 0 {
		notes = append(notes, figure.Count(r.Retried, "question")+" needed more than one attempt.")
	}
	return notes
}

// CostPart is a part of the cost of a replay.
type CostPart struct {
	Name string
	USD  llm.USD
	// Known is false if the price is unknown.
	Known bool
}

// CostParts returns the parts of the cost of a replay, nil for another run.
func (r *Result) CostParts() []CostPart {
	c := r.CostAccounting
	if c == nil {
		return nil
	}
	return []CostPart{
		{"ingest", c.IngestUSD, true}, {"actor", c.ActorUSD, true},
		{"judge", c.JudgeUSD, r.Cost.UnpricedModel == ""}, {"embed", c.EmbedUSD, true},
	}
}

// String formats the amount, "unknown" if it is unknown.
func (p CostPart) String() string {
	if !p.Known {
		return unknownAmount
	}
	return p.USD.String()
}
