package scorer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The question types that are judged by different rules.
const (
	TypeStandard        = "standard"
	TypeTemporal        = "temporal"         // a count of days, weeks or months may be off by one
	TypeKnowledgeUpdate = "knowledge-update" // the newest value is the right one
	TypePreference      = "preference"       // the reference describes a good reply
	TypeAbstention      = "abstention"       // the right answer is that it is not known
)

// types has all types in the order used for digests and tables.
var types = []string{TypeStandard, TypeTemporal, TypeKnowledgeUpdate, TypePreference, TypeAbstention}

// Types returns the types of questions, TypeStandard first.
func Types() []string { return slices.Clone(types) }

// PromptSet has a judge's prompts by question type.
type PromptSet map[string]Prompts

// Name identifies the prompts in results by the distinct parts of their names before a slash:
// "replay-1" for ReplayPrompts, and "replay-1, file:temporal" if a file replaces one type's.
func (s PromptSet) Name() string {
	var names []string
	for _, t := range s.types() {
		name, _, _ := strings.Cut(s[t].Name, "/")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// SHA256 returns a digest of the types and their prompts' digests in lower-case hexadecimal.
func (s PromptSet) SHA256() string {
	h := sha256.New()
	for _, t := range s.types() {
		fmt.Fprintf(h, "%d:%s%s", len(t), t, s[t].SHA256())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// types returns the set's types in the order of Types, unknown ones last.
func (s PromptSet) types() []string {
	var list []string
	for _, t := range types {
		if _, ok := s[t]; ok {
			list = append(list, t)
		}
	}
	for _, t := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(types, t) {
			list = append(list, t)
		}
	}
	return list
}

func (s PromptSet) check() error {
	for _, t := range types {
		p, ok := s[t]
		if !ok {
			return fmt.Errorf("the judge has no prompts for questions of type %s", t)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("questions of type %s: %w", t, err)
		}
		if p.Scorer != s[TypeStandard].Scorer {
			return fmt.Errorf("the judge's prompts %q name another scorer than %q", p.Name, s[TypeStandard].Name)
		}
	}
	if extra := s.types()[len(types):]; len(extra) > 0 {
		return fmt.Errorf("the judge has prompts for unknown types of questions: %s; the types are %s",
			strings.Join(extra, ", "), strings.Join(types, ", "))
	}
	return nil
}
