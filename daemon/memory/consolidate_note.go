package memory

import (
	"slices"
	"strings"
	"time"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

// maxNoteDays limits the lines of a note. It keeps the first ones and the newest.
const maxNoteDays = 50

// noteFacts merges the facts of a note with the lines, one fact for each day, in the order of days.
// All facts make the same statement.
func noteFacts(note []fact, lines []factRef) []fact {
	var facts []fact
	seen := map[time.Time]bool{}
	add := func(f fact) {
		if !seen[f.Date] {
			seen[f.Date] = true
			facts = append(facts, f)
		}
	}
	for _, f := range note {
		add(f)
	}
	for _, l := range lines {
		add(*l.fact)
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return a.Date.Compare(b.Date) })
	if n := len(facts) - maxNoteDays; n > 0 {
		facts = slices.Delete(facts, 1, 1+n)
	}
	return facts
}

// noteDocument returns the document of a promoted fact.
func noteDocument(facts []fact, when time.Time, sources []string) (string, error) {
	var body strings.Builder
	for _, f := range facts {
		body.WriteString(f.String() + "\n")
	}
	return sealedDocument(body.String(), frontmatter.Fields{
		Title: clip(factText(facts[0].Text), protocol.MaxBrainName), Date: when, Source: protocol.SourceCompile,
		Metadata: map[string]any{keySources: sourceList(sources)},
	})
}

// isNote reports whether noteDocument has written a document, about one fact.
func (d holding) isNote() bool {
	if !d.sealed || len(d.facts) == 0 {
		return false
	}
	key := statementKey(d.facts[0])
	if slices.ContainsFunc(d.facts, func(f fact) bool { return statementKey(f) != key }) {
		return false
	}
	text, err := noteDocument(d.facts, d.doc.Date, parseSources(d.doc))
	return err == nil && text == d.text
}
