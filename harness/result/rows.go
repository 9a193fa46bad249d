package result

import (
	"maps"
	"slices"

	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// TagRow is a tag or a check as all forms of a report show it.
type TagRow struct {
	Tag string
	TagFigures
	// Floor is nil for a tag without one.
	Floor *TagGate
}

// TagRows returns the tags that reports show: in order those without a Duplicate, unless it has a
// floor, and then those with a floor that no question has.
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

// Timing is a latency as all forms of a report show it.
type Timing struct {
	Name string
	Quantiles
	// Of returns the time of a question, nil if it has none.
	Of func(*Record) *float64
}

// Timings returns the latencies of the questions that were answered.
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

// FeltNote says what the latencies are of a run that has Felt.
const FeltNote = "Times are those of the answering attempts; with waits, failed attempts and the pauses between them are included."

// TimingNotes says what else is known of the latencies. A note may have a message of a daemon.
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

// CostPart is what a part of a replay cost.
type CostPart struct {
	Name string
	USD  llm.USD
	// Known is false if the price is not known.
	Known bool
}

// CostParts returns what the parts of a replay cost, nil for another run.
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

// String returns the amount, "unknown" if it is not known.
func (p CostPart) String() string {
	if !p.Known {
		return unknownAmount
	}
	return p.USD.String()
}
