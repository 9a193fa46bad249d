package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
)

// consolidation is a plan: which documents are written and deleted, and why. It depends only on the
// holdings, the time and the summaries, so a dry run and the batch make the same plan.
type consolidation struct {
	holdings
	now time.Time

	compiled, promoted, pruned []protocol.ConsolidationAction

	writes  map[string]string // by path
	deletes map[string]bool
	lost    []loss

	dropped map[*fact]bool // facts that are pruned
	added   []holding      // new notes
	next    compileState
	live    map[string]bool // paths of the summaries before the plan

	// err is the first document that could not be written. If it is set, the plan must not be
	// applied.
	err error
}

// loss is a text that a consolidation removes or replaces.
type loss struct {
	path, text, reason string
	replaced           bool
}

// newPlan plans the steps that need no model: promoting and pruning facts.
func newPlan(h holdings, now time.Time) *consolidation {
	p := &consolidation{
		holdings: h, now: now,
		writes: map[string]string{}, deletes: map[string]bool{}, dropped: map[*fact]bool{},
		next: compileState{Covered: map[string]string{}}, live: map[string]bool{},
	}
	for _, d := range h.summaries {
		p.live[d.path] = true
	}
	p.planFacts()
	return p
}

// result lists the actions, each kind in the order of paths.
func (p *consolidation) result(dryRun bool, record, model string) protocol.Consolidation {
	byPath := func(list []protocol.ConsolidationAction) []protocol.ConsolidationAction {
		slices.SortStableFunc(list, func(a, b protocol.ConsolidationAction) int { return strings.Compare(a.Path, b.Path) })
		return append([]protocol.ConsolidationAction{}, list...)
	}
	return protocol.Consolidation{
		DryRun: dryRun, Record: record, Model: model,
		Compiled: byPath(p.compiled), Promoted: byPath(p.promoted), Pruned: byPath(p.pruned),
	}
}

func (p *consolidation) nothingToDo() bool {
	return len(p.compiled)+len(p.promoted)+len(p.pruned) == 0
}

// write plans a document, unless it could not be made.
func (p *consolidation) write(path, text string, err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("write %s: %w", path, err)
	}
	p.writes[path] = text
}

// prune plans the removal of a text from path, or of the whole document.
func (p *consolidation) prune(path, text, reason string, from ...string) {
	p.pruned = append(p.pruned, protocol.ConsolidationAction{Path: path, From: append([]string{}, from...), Reason: reason})
	p.lost = append(p.lost, loss{path: path, text: text, reason: reason})
}

// statement is a fact wherever it is stated, on whatever day.
type statement struct {
	text  string // as it was first written
	lines []factRef
	note  *holding // of the daemon's own; nil if there is none
	when  time.Time
	by    *statement // the newer statement that contradicts it
	moved string     // path of the note that it was promoted to
}

// factRef is a fact with the document of facts that it is in.
type factRef struct {
	doc  *holding
	fact *fact
}

// planFacts plans promotions, and prunes facts that are promoted, repeated or superseded.
func (p *consolidation) planFacts() {
	statements := p.statements()
	supersede(statements)
	for _, s := range statements {
		switch {
		case s.by != nil:
		case s.note != nil && len(s.lines) > 0:
			p.confirm(s)
		case s.note == nil && len(s.sessions()) > 1:
			p.promote(s)
		default:
			p.pruneRepeated(s.lines)
		}
	}
	for _, s := range statements { // after the newer ones, whose places are known then
		if s.by != nil {
			p.pruneSuperseded(s)
		}
	}
	p.rewriteFacts()
}

// statements returns the statements of facts and of the daemon's notes, in the order of their
// documents.
func (p *consolidation) statements() []*statement {
	var list []*statement
	byKey := map[string]*statement{}
	find := func(d *holding, f fact) *statement {
		key := statementKey(f)
		s := byKey[key]
		if s == nil {
			s = &statement{text: f.Text}
			byKey[key] = s
			list = append(list, s)
		}
		if when := d.when(f); when.After(s.when) {
			s.when = when
		}
		return s
	}
	for i := range p.facts {
		d := &p.facts[i]
		for j := range d.facts {
			s := find(d, d.facts[j])
			s.lines = append(s.lines, factRef{d, &d.facts[j]})
		}
	}
	for i := range p.notes {
		d := &p.notes[i]
		for _, f := range d.facts {
			if s := find(d, f); s.note == nil {
				s.note = d
			}
		}
	}
	return list
}

func (s *statement) sessions() []string {
	seen := map[string]bool{}
	for _, l := range s.lines {
		seen[l.doc.session()] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// place returns a document that still has the statement.
func (s *statement) place() string {
	switch {
	case s.moved != "":
		return s.moved
	case s.note != nil:
		return s.note.path
	}
	return s.lines[0].doc.path
}

// linePaths returns the paths of the documents with the lines.
func linePaths(lines []factRef) []string {
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l.doc.path] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// pruneLines drops facts. why continues a sentence that begins with the fact.
func (p *consolidation) pruneLines(lines []factRef, why, where string) {
	for _, l := range lines {
		p.dropped[l.fact] = true
		p.prune(l.doc.path, l.fact.String(), fmt.Sprintf("the fact %q %s %s", excerpt(l.fact.Text), why, plainPath(where)), where)
	}
}

// pruneRepeated leaves one line of each day.
func (p *consolidation) pruneRepeated(lines []factRef) {
	first := map[time.Time]factRef{}
	for _, l := range lines {
		if kept, repeated := first[l.fact.Date]; repeated {
			p.pruneLines([]factRef{l}, "is repeated in", kept.doc.path)
		} else {
			first[l.fact.Date] = l
		}
	}
}

func (p *consolidation) pruneSuperseded(s *statement) {
	newer := s.by.place()
	p.pruneLines(s.lines, "is superseded by a newer one in", newer)
	if s.note != nil && !p.deletes[s.note.path] {
		p.deletes[s.note.path] = true
		p.prune(s.note.path, s.note.text, "the note is superseded by a newer fact in "+plainPath(newer), newer)
	}
}

// promote plans a note of its own for a statement of several sessions.
func (p *consolidation) promote(s *statement) {
	path := p.free(notesFolder, "note", clip(s.text, protocol.MaxBrainName))
	s.moved = path
	from := linePaths(s.lines)
	facts := noteFacts(nil, s.lines)
	text, err := noteDocument(facts, s.when, from)
	p.write(path, text, err)
	p.added = append(p.added, holding{path: path, text: text, doc: frontmatter.Parse(text), facts: facts, sealed: true})
	p.promoted = append(p.promoted, protocol.ConsolidationAction{
		Path: path, From: from,
		Reason: fmt.Sprintf("%d sessions state the fact %q", len(s.sessions()), excerpt(s.text)),
	})
	p.pruneLines(s.lines, "is promoted to", path)
}

// confirm moves facts into the note that states the same.
func (p *consolidation) confirm(s *statement) {
	from := linePaths(s.lines)
	text, err := noteDocument(noteFacts(s.note.facts, s.lines), s.when, append(parseSources(s.note.doc), from...))
	if err != nil || text != s.note.text {
		p.write(s.note.path, text, err)
		p.lost = append(p.lost, loss{path: s.note.path, text: s.note.text, reason: "the note is confirmed", replaced: true})
		p.promoted = append(p.promoted, protocol.ConsolidationAction{
			Path: s.note.path, From: from, Reason: fmt.Sprintf("the fact %q is confirmed", excerpt(s.text)),
		})
	}
	p.pruneLines(s.lines, "is added to the note", s.note.path)
}

// rewriteFacts rewrites the documents that have lost facts, and deletes those without any left.
func (p *consolidation) rewriteFacts() {
	for i := range p.facts {
		d := &p.facts[i]
		left := d.left(p.dropped)
		switch {
		case len(left) == len(d.facts):
		case len(left) == 0:
			p.deletes[d.path] = true
			p.prune(d.path, d.text, "no fact is left in it")
		default:
			text, err := d.withFacts(left)
			p.write(d.path, text, err)
		}
	}
}

// left returns the facts that are not dropped.
func (d *holding) left(dropped map[*fact]bool) []fact {
	var left []fact
	for j := range d.facts {
		if !dropped[&d.facts[j]] {
			left = append(left, d.facts[j])
		}
	}
	return left
}

// excerpt returns the beginning of a fact, for a reason.
func excerpt(text string) string { return printable.Short(text, 120) }

// unitOrder compares units by date, oldest first.
func unitOrder(a, b unit) int {
	return cmp.Or(a.date.Compare(b.date), strings.Compare(a.path, b.path), strings.Compare(a.key, b.key))
}
