package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/distill"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/internal/llm"
)

// Limits on one consolidation, so that its cost follows from the number of new texts.
const (
	// maxUnread limits the units that were not read before. The next consolidation reads the rest.
	maxUnread = 2000
	// maxRead limits the units that were read before and were alone with their subject.
	// maxSummaries limits the summaries. Both kinds share at least minRelated words with unread
	// units.
	maxRead      = 200
	maxSummaries = 50
	minRelated   = 2
)

const (
	// keySources is the front matter key with the sources of a document, a JSON list of paths.
	keySources = "sources"
	// maxSources limits those paths, in bytes.
	maxSources = 4096
	// cutSources is the first source of a list that lacks others because of that limit.
	cutSources = "*"
)

// unit is a text that can be compiled into a summary: a fact, an episode, a note or a summary.
type unit struct {
	key         string
	path        string
	title, text string
	date        time.Time
	summary     bool
}

// units returns the units that remain after facts have been pruned, summaries first.
func (p *consolidation) units() []unit {
	var list []unit
	for _, d := range p.summaries {
		list = append(list, unit{unitKey(d.path, d.text), d.path, d.doc.Title, d.doc.Body, d.doc.When(), true})
	}
	for i := range p.facts {
		d := &p.facts[i]
		for _, f := range d.left(p.dropped) {
			list = append(list, unit{unitKey(d.path, f.String()), d.path, "", f.Text, d.when(f), false})
		}
	}
	for _, d := range p.episodes {
		list = append(list, unit{unitKey(d.path, d.text), d.path, d.doc.Title, d.doc.Body, d.doc.When(), false})
	}
	for _, d := range append(slices.Clone(p.notes), p.added...) {
		if !p.deletes[d.path] {
			// The key leaves out the days, so that a confirmed note need not be read again.
			list = append(list, unit{unitKey(d.path, statementKey(d.facts[0])), d.path, "", d.facts[0].Text, d.doc.When(), false})
		}
	}
	return list
}

// coveredBy returns the summary that covers a unit, if the daemon's version of it still exists.
func (p *consolidation) coveredBy(key string) string {
	if path := p.state.Covered[key]; p.live[path] {
		return path
	}
	return ""
}

// unitsToCompile returns the texts for the model: new units, and others that may be on the same
// subjects, summaries first. It is empty if there are no new units.
func (p *consolidation) unitsToCompile() []unit {
	var summaries, unread, read []unit
	for _, u := range p.units() {
		_, known := p.state.Covered[u.key]
		switch {
		case u.summary:
			summaries = append(summaries, u)
		case !known:
			unread = append(unread, u)
		case p.coveredBy(u.key) == "":
			read = append(read, u)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	slices.SortFunc(unread, unitOrder)
	unread = unread[:min(len(unread), maxUnread)]
	words := map[string]bool{}
	for _, u := range unread {
		maps.Copy(words, u.terms())
	}
	rest := append(unread, related(read, words, maxRead)...)
	slices.SortFunc(rest, unitOrder)
	return append(related(summaries, words, maxSummaries), rest...)
}

func (u unit) terms() map[string]bool { return llm.Terms(u.title + " " + u.text) }

// related returns the units that have most of the words, in their order.
func related(units []unit, words map[string]bool, most int) []unit {
	type candidate struct {
		unit
		shared int
	}
	var list []candidate
	for _, u := range units {
		c := candidate{unit: u}
		for t := range u.terms() {
			if words[t] {
				c.shared++
			}
		}
		if c.shared >= minRelated {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), unitOrder(a.unit, b.unit))
	})
	var out []unit
	for _, c := range list[:min(len(list), most)] {
		out = append(out, c.unit)
	}
	slices.SortFunc(out, unitOrder)
	return out
}

// addSummaries plans the model's summaries, and prunes the texts that they cover.
func (p *consolidation) addSummaries(c compilation) {
	units := map[string]unit{}
	for _, u := range p.units() {
		units[u.key] = u
		if _, known := p.state.Covered[u.key]; known {
			p.next.Covered[u.key] = p.coveredBy(u.key)
		}
	}
	for _, key := range c.read {
		if u, ok := units[key]; ok && !u.summary {
			p.next.Covered[key] = p.coveredBy(key)
		}
	}
	for _, s := range c.summaries {
		p.addSummary(s, units)
	}
	p.pruneEpisodes()
}

// addSummary plans one summary. It leaves the summary out if a source has changed since the model
// read it, or if an existing summary already says the same.
func (p *consolidation) addSummary(s compiledSummary, units map[string]unit) {
	var from []unit
	fresh := false
	for _, key := range s.from {
		u, ok := units[key]
		if !ok || u.summary && p.gone(u.path) {
			return
		}
		from = append(from, u)
		fresh = fresh || !u.summary
	}
	if len(from) < 2 || !fresh {
		return
	}
	path, old := "", []unit(nil)
	for _, u := range from {
		if u.summary {
			path = cmp.Or(path, u.path)
			old = append(old, u)
		}
	}
	if path == "" {
		path = p.free(summariesFolder, "summary", s.title)
	}
	p.sealSummary(path, s, from)
	var sources []string
	for _, u := range from {
		if u.path != path && !slices.Contains(sources, u.path) {
			sources = append(sources, u.path)
		}
	}
	p.compiled = append(p.compiled, protocol.ConsolidationAction{
		Path: path, From: append([]string{}, sources...), Reason: fmt.Sprintf("%d texts are about %q", len(from), s.title),
	})
	for _, u := range old {
		p.replaceSummary(u, path)
	}
	for _, u := range from {
		if !u.summary {
			p.next.Covered[u.key] = path
		}
	}
}

// gone reports whether a document is written or deleted by the plan already.
func (p *consolidation) gone(path string) bool {
	_, written := p.writes[path]
	return written || p.deletes[path]
}

// replaceSummary records the text of a summary that the one at path continues.
func (p *consolidation) replaceSummary(u unit, path string) {
	i := slices.IndexFunc(p.summaries, func(d holding) bool { return d.path == u.path })
	old := p.summaries[i]
	for key, covered := range p.next.Covered {
		if covered == old.path {
			p.next.Covered[key] = path
		}
	}
	if old.path == path {
		p.lost = append(p.lost, loss{path: path, text: old.text, reason: "the summary is extended", replaced: true})
		return
	}
	p.deletes[old.path] = true
	p.prune(old.path, old.text, "the summary is merged into "+plainPath(path), path)
}

// sealSummary plans the document of a summary, dated by the newest source.
func (p *consolidation) sealSummary(path string, s compiledSummary, from []unit) {
	var date time.Time
	var sources []string
	for _, u := range from {
		if u.date.After(date) {
			date = u.date
		}
		if !u.summary {
			// A note that is superseded is deleted, but the summary keeps its text.
			sources = append(sources, p.noteSources(u.path)...)
			sources = append(sources, u.path)
			continue
		}
		i := slices.IndexFunc(p.summaries, func(d holding) bool { return d.path == u.path })
		sources = append(sources, parseSources(p.summaries[i].doc)...)
	}
	text, err := sealedDocument(s.text+"\n", frontmatter.Fields{
		Title: s.title, Date: date, Source: protocol.SourceCompile,
		Metadata: map[string]any{keySources: sourceList(sources)},
	})
	p.write(path, text, err)
}

// noteSources returns the sources of the note at a path, or nil if no note is there.
func (p *consolidation) noteSources(path string) []string {
	if !strings.HasPrefix(path, notesFolder) {
		return nil
	}
	for _, list := range [][]holding{p.notes, p.added} {
		for i := range list {
			if list[i].path == path {
				return parseSources(list[i].doc)
			}
		}
	}
	return nil
}

// sourceList encodes the last paths of a list, as many as fit into front matter. If it leaves some
// out, or an earlier call for the list did, the first one is cutSources.
func sourceList(paths []string) string {
	var list []string
	size, cut := 0, false
	for _, p := range slices.Backward(paths) {
		if p == cutSources {
			cut = true
			continue
		}
		if slices.Contains(list, p) {
			continue
		}
		if size += len(p); size > maxSources {
			cut = true
			break
		}
		list = append(list, p)
	}
	if cut {
		list = append(list, cutSources)
	}
	slices.Reverse(list)
	data, err := json.Marshal(list)
	if err != nil {
		return "[]" // cannot happen: strings
	}
	return string(data)
}

func parseSources(doc frontmatter.Document) []string {
	var list []string
	text, _ := doc.Metadata[keySources].(string)
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// pruneEpisodes deletes old episodes that a summary covers. It keeps an episode that was too long
// for the model to read in full.
func (p *consolidation) pruneEpisodes() {
	for _, d := range p.episodes {
		key := unitKey(d.path, d.text)
		summary := p.next.Covered[key]
		when := d.doc.When()
		if summary == "" || when.IsZero() || p.now.Sub(when) < staleAfter || len(strings.TrimSpace(d.doc.Body)) > distill.MaxNote {
			continue
		}
		p.deletes[d.path] = true
		delete(p.next.Covered, key)
		p.prune(d.path, d.text, fmt.Sprintf("the episode of %s is covered by %s", when.Format(time.DateOnly), plainPath(summary)), summary)
	}
}

// sortedPaths returns the keys of a map in ascending order.
func sortedPaths[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
