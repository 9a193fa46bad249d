package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
)

// Selection says which questions to ask and in which order. The zero value selects all in file
// order. A question must meet all conditions.
type Selection struct {
	// Tags selects questions with at least one of these tags.
	Tags []string
	// IDs selects questions by id, nil for any. IDsOf is the file they were read from.
	IDs   []string
	IDsOf string
	// Grep selects questions with a matching text.
	Grep *regexp.Regexp
	// Failed selects questions by id like IDs: those that did not pass in the result file FailedOf.
	Failed   []string
	FailedOf string
	// Shuffle sorts the questions by the SHA-256 of Seed and id, which is the same on every
	// platform and for every version of Go. Otherwise they are in file order.
	Shuffle bool
	Seed    uint64
	// Limit is the maximum number of questions, 0 for no limit. The first ones are kept.
	Limit int
}

// whole reports whether s selects all questions in file order.
func (s Selection) whole() bool {
	return len(s.Tags) == 0 && s.IDs == nil && s.Grep == nil && s.Failed == nil && !s.Shuffle && s.Limit == 0
}

// selector selects the questions of a file while it is read.
type selector struct {
	Selection
	tags        map[string]int // of all questions, with how many have it
	ids, failed map[string]bool
	// matches has the places and ids of the matching questions and, if shuffled, their sort keys.
	matches []match
}

// match is a question that meets the conditions.
type match struct {
	place
	id  string
	key uint64
}

func newSelector(s Selection) *selector {
	set := func(ids []string) map[string]bool {
		m := make(map[string]bool, len(ids))
		for _, id := range ids {
			m[id] = true
		}
		return m
	}
	return &selector{Selection: s, tags: map[string]int{}, ids: set(s.IDs), failed: set(s.Failed)}
}

// meets reports whether a question meets all conditions.
func (s *selector) meets(q Question) bool {
	if len(s.Tags) > 0 && !slices.ContainsFunc(s.Tags, func(t string) bool { return slices.Contains(q.Tags, t) }) {
		return false
	}
	return (s.IDs == nil || s.ids[q.ID]) && (s.Failed == nil || s.failed[q.ID]) &&
		(s.Grep == nil || s.Grep.MatchString(q.Question))
}

// add counts a question's tags, and keeps it if it meets the conditions.
func (s *selector) add(q Question) (met bool) {
	for _, t := range q.Tags {
		s.tags[t]++
	}
	if !s.meets(q) {
		return false
	}
	f := match{place: q.place, id: q.ID}
	if s.Shuffle {
		f.key = shuffleKey(s.Seed, q.ID)
	}
	s.matches = append(s.matches, f)
	return true
}

// shuffleKey returns the first bytes of the hash for shuffling.
func shuffleKey(seed uint64, id string) uint64 {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), id...))
	return binary.BigEndian.Uint64(sum[:])
}

// choose selects the questions of a fully read dataset. lines maps ids to lines.
func (s *selector) choose(d *Dataset, lines map[string]int) error {
	if err := s.known(d.Path, lines); err != nil {
		return err
	}
	if s.Shuffle {
		slices.SortStableFunc(s.matches, func(a, b match) int { return cmp.Compare(a.key, b.key) })
	}
	if s.Limit > 0 && len(s.matches) > s.Limit {
		s.matches = s.matches[:s.Limit]
	}
	if len(s.matches) == 0 {
		return fmt.Errorf("%s: no question is selected; the conditions are: %s", d.Path, s.described())
	}
	d.places = make([]place, len(s.matches))
	ids := make([]string, len(s.matches))
	for i, f := range s.matches {
		d.places[i], ids[i] = f.place, f.id
	}
	d.Selected, d.shuffled = len(ids), s.Shuffle
	if s.Shuffle || d.Selected < d.Total {
		d.Selection = s.described()
		d.Selection.SHA256, d.Selection.Total = result.IDsSHA256(slices.Values(ids)), d.Total
	}
	return nil
}

// described returns the conditions in recorded form.
func (s *selector) described() *result.Selection {
	r := &result.Selection{
		Tags: s.Tags, IDs: len(s.ids), IDsOf: s.IDsOf, FailedOf: s.FailedOf, Limit: s.Limit,
	}
	if s.Grep != nil {
		r.Grep = s.Grep.String()
	}
	if s.Shuffle {
		r.Seed = &s.Seed
	}
	return r
}

// known returns an error for tags and ids missing from the dataset.
func (s *selector) known(path string, lines map[string]int) error {
	var bad []error
	for _, tag := range s.Tags {
		if s.tags[tag] == 0 {
			bad = append(bad, fmt.Errorf("tag %q: no question of %s has it%s; its tags are: %s",
				tag, path, meant(tag, maps.Keys(s.tags)), listTags(s.tags)))
		}
	}
	unknown := func(ids []string, format string, args ...any) {
		for _, id := range ids {
			if lines[id] > 0 {
				continue
			}
			hint := ""
			if len(bad) == 0 {
				hint = meant(id, maps.Keys(lines))
			}
			bad = append(bad, fmt.Errorf(format, append([]any{id, path, hint}, args...)...))
		}
	}
	unknown(s.IDs, "id %q: no question of %s has it%s")
	unknown(s.Failed, "id %q: no question of %s has it%s; it did not pass in %s, which is about other questions",
		s.FailedOf)
	return JoinErrors(bad, "of this kind")
}

// listedTags limits the tags listed in an error.
const listedTags = 20

func listTags(tags map[string]int) string {
	names := slices.Sorted(maps.Keys(tags))
	if len(names) == 0 {
		return "none"
	}
	return figure.List(names, listedTags, strings.Clone)
}

// Failed returns the ids of the questions that did not pass in a result file, in its order: with a
// failing score, an error, or no score. It is an error if there are none.
func Failed(path string) ([]string, error) {
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var ids []string
	seen := map[string]bool{}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		if !rec.Passed && rec.Outcome.Counts() && !seen[rec.ID] {
			seen[rec.ID] = true
			ids = append(ids, rec.ID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: every question passed, so that none is left to ask again", path)
	}
	return ids, nil
}
