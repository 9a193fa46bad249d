package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

// consolidation is a plan: what is written and deleted, and why. It depends on nothing but the
// holdings, the time and the summaries, so the same plan can be made for a dry run and in the batch.
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

	// err is the first document that could not be written. Nothing of the plan may then be done.
	err error
}

// loss is a text that a consolidation removes from a document, or that it replaces.
type loss struct {
	path, text, reason string
	replaced           bool
}

// newPlan plans what needs no model: which facts are promoted and which are pruned.
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

// result lists the actions. Those of one kind are in the order of their paths.
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

// seal plans a document of the daemon's own, and returns its text.
func (p *consolidation) seal(path, body string, f frontmatter.Fields) string {
	text, err := sealedDocument(body, f)
	p.write(path, text, err)
	return text
}

// prune plans the removal of a text from path, or of the whole document.
func (p *consolidation) prune(path, text, reason string, from ...string) {
	p.pruned = append(p.pruned, protocol.ConsolidationAction{Path: path, From: append([]string{}, from...), Reason: reason})
	p.lost = append(p.lost, loss{path: path, text: text, reason: reason})
}

// statement is a fact wherever it is stated.
type statement struct {
	text  string // as it was first written
	lines []factRef
	notes []int // indexes in holdings.notes
	when  time.Time
	by    *statement // the newer statement that contradicts it
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
			p.pruneSuperseded(s)
		case len(s.notes) > 0:
			p.confirm(s)
		case len(s.sessions()) > 1:
			p.promote(s)
		case len(s.lines) > 1:
			p.pruneRepeated(s.lines)
		}
	}
	p.rewriteFacts()
}

// statements returns all statements of facts and notes, in the order of their documents.
func (p *consolidation) statements() []*statement {
	var list []*statement
	byKey := map[string]*statement{}
	find := func(d *holding, f *fact) *statement {
		key := statementKey(*f)
		s := byKey[key]
		if s == nil {
			s = &statement{text: f.Text}
			byKey[key] = s
			list = append(list, s)
		}
		if when := d.when(*f); when.After(s.when) {
			s.when = when
		}
		return s
	}
	for i := range p.facts {
		d := &p.facts[i]
		for j := range d.facts {
			s := find(d, &d.facts[j])
			s.lines = append(s.lines, factRef{d, &d.facts[j]})
		}
	}
	for i := range p.notes {
		d := &p.notes[i]
		for j := range d.facts {
			s := find(d, &d.facts[j])
			s.notes = append(s.notes, i)
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
		p.prune(l.doc.path, l.fact.String(), fmt.Sprintf("the fact %q %s %s", excerpt(l.fact.Text), why, where), where)
	}
}

func (l factRef) when() time.Time { return l.doc.when(*l.fact) }

// pruneRepeated leaves the newest of the lines, so that the statement does not become older.
func (p *consolidation) pruneRepeated(lines []factRef) {
	newest := slices.MaxFunc(lines, func(a, b factRef) int { return a.when().Compare(b.when()) })
	for _, l := range lines {
		if l != newest {
			p.pruneLines([]factRef{l}, "is repeated in", newest.doc.path)
		}
	}
}

// confirm prunes facts that are in a note already. A note of the daemon's own gets the date of the
// newest of them. If the note is a user's, newer facts stay, since its date would be lost.
func (p *consolidation) confirm(s *statement) {
	if len(s.lines) == 0 {
		return
	}
	note := &p.notes[s.notes[0]]
	for _, i := range s.notes {
		if p.notes[i].ownNote() {
			note = &p.notes[i]
			break
		}
	}
	written := note.when(note.facts[0])
	if !note.ownNote() {
		older := slices.DeleteFunc(slices.Clone(s.lines), func(l factRef) bool { return l.when().After(written) })
		p.pruneLines(older, "is already in the note", note.path)
		return
	}
	if s.when.After(written) {
		from := linePaths(s.lines)
		p.seal(note.path, note.facts[0].String()+"\n", frontmatter.Fields{
			Title: note.doc.Title, Date: s.when, Source: protocol.SourceCompile,
			Metadata: map[string]any{keySources: sourceList(append(parseSources(note.doc), from...))},
		})
		p.lost = append(p.lost, loss{path: note.path, text: note.text, reason: "the note is confirmed", replaced: true})
		p.promoted = append(p.promoted, protocol.ConsolidationAction{
			Path: note.path, From: from, Reason: fmt.Sprintf("the fact %q is confirmed", excerpt(note.facts[0].Text)),
		})
	}
	p.pruneLines(s.lines, "is already in the note", note.path)
}

// ownNote reports whether the daemon wrote a note and nobody has changed it since.
func (d *holding) ownNote() bool { return d.sealed && len(d.facts) == 1 }

func (p *consolidation) pruneSuperseded(s *statement) {
	newer := s.by.place(p)
	p.pruneLines(s.lines, "is superseded by a newer one in", newer)
	for _, i := range s.notes {
		d := &p.notes[i]
		if !d.ownNote() || p.deletes[d.path] {
			continue
		}
		p.deletes[d.path] = true
		p.prune(d.path, d.text, "the note is superseded by a newer fact in "+newer, newer)
	}
}

// place returns a document with the statement.
func (s *statement) place(p *consolidation) string {
	if len(s.notes) > 0 {
		return p.notes[s.notes[0]].path
	}
	return s.lines[len(s.lines)-1].doc.path
}

// promote plans a note of its own for a statement of several sessions.
func (p *consolidation) promote(s *statement) {
	f := *s.lines[0].fact
	from := linePaths(s.lines)
	title := clip(f.Text, protocol.MaxBrainName)
	path := p.free(notesFolder, "note", title)
	text := p.seal(path, f.String()+"\n", frontmatter.Fields{
		Title: title, Date: s.when, Source: protocol.SourceCompile,
		Metadata: map[string]any{keySources: sourceList(from)},
	})
	p.added = append(p.added, holding{path: path, text: text, doc: frontmatter.Parse(text), facts: []fact{f}, sealed: true})
	p.promoted = append(p.promoted, protocol.ConsolidationAction{
		Path: path, From: from,
		Reason: fmt.Sprintf("%d sessions state the fact %q", len(s.sessions()), excerpt(f.Text)),
	})
	p.pruneLines(s.lines, "is promoted to", path)
}

// rewriteFacts writes the documents that have lost facts, and deletes those without any left.
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
func excerpt(text string) string {
	const most = 120 // characters
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return clip(text, most-1) + "…"
}

// unitOrder compares units by date, oldest first.
func unitOrder(a, b unit) int {
	return cmp.Or(a.date.Compare(b.date), strings.Compare(a.path, b.path), strings.Compare(a.key, b.key))
}
