package source

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
)

// defaultBrain is the brain of JSONL lines that name none.
const defaultBrain = "replay"

// noType is the type of JSONL questions without a type tag.
const noType = "all"

// loadJSONL reads a JSONL file with its corpus. Every brain becomes a haystack.
func (b *Benchmark) loadJSONL(corpus string, traps *traps) error {
	d, err := dataset.Open(b.Path, dataset.Options{
		Naming: dataset.BrainNaming{Default: defaultBrain}, Check: checkLine,
	})
	if err != nil {
		return err
	}
	b.SHA256 = d.SHA256
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		b.Questions = append(b.Questions, questionOf(q))
	}
	tagged := slices.IndexFunc(b.Questions, func(q Question) bool { return len(q.Tags) > 0 })
	typed := func(q Question) bool { return q.Type != noType }
	if tagged >= 0 && !slices.ContainsFunc(b.Questions, typed) {
		traps.add(trapTags, fmt.Sprintf("%s: %.60q", b.Questions[tagged].ID, b.Questions[tagged].Tags))
	}
	docs, err := dataset.Spec{Path: b.Path, Corpus: corpus}.OpenCorpus()
	if err != nil {
		return err
	}
	if docs != nil {
		b.Corpus, b.CorpusSHA256 = docs.Path, docs.SHA256
		for _, path := range docs.LeftOut {
			traps.add(trapLeftOut, path)
		}
	}
	brains, err := d.Brains(docs)
	if err != nil {
		return err
	}
	for _, brain := range brains {
		info := HaystackInfo{ID: brain.Name, Brain: brain.Name, Sessions: len(brain.Docs)}
		for _, doc := range brain.Docs {
			info.TextBytes += int64(len(doc.Data))
		}
		h := Haystack{ID: brain.Name, Brain: brain.Name, Docs: brain.Docs}
		if err := b.add(info, func() (Haystack, error) { return h, nil }); err != nil {
			return err
		}
	}
	if err := dataset.CheckEvidence(d, brains); err != nil {
		return err
	}
	return b.checkGold(brains, traps)
}

// checkLine checks that a line has the fields that a replay needs.
func checkLine(q dataset.Question) error {
	if q.ReferenceAnswer == "" && len(q.ExpectedSubstrings) == 0 && len(q.ExpectedPaths) == 0 && len(q.ExpectedEvidence) == 0 && len(q.Checks) == 0 {
		return fmt.Errorf(`question %q has neither "reference_answer" nor "expected_substrings" `+
			`nor "expected_paths" nor "expected_evidence" nor "checks"; without one of them it cannot be scored`, q.ID)
	}
	for key, has := range map[string]bool{"before": len(q.Before) > 0, "forbidden": len(q.Forbidden) > 0, "must_cite": len(q.MustCite) > 0} {
		if has {
			return fmt.Errorf("question %q has %q, which only evalctl run applies: remove it, or use that", q.ID, key)
		}
	}
	return nil
}

// checkGold resolves gold documents to paths in the corpus and applies the errata. It returns an
// error for a document missing from the corpus.
func (b *Benchmark) checkGold(brains []dataset.Brain, traps *traps) error {
	paths := dataset.PathsByBrain(brains)
	var bad []error
	for i := range b.Questions {
		q := &b.Questions[i]
		known := paths[q.Brain]
		resolve := func(path string) []string {
			if path = known.Gold(path); known != nil && !known.Has(path) {
				return nil
			}
			return []string{path}
		}
		expected, grades := q.Gold, q.Grades
		q.Gold, q.Grades = nil, nil
		given := make(map[string]bool, len(expected))
		for _, p := range expected {
			switch resolved := resolve(p); {
			case resolved == nil:
				bad = append(bad, &dataset.LineError{File: b.Path, Line: q.Line, Err: fmt.Errorf(
					"question %q expects %q, which is not in brain %s of %s", q.ID, p, q.Brain, b.Corpus)})
			case given[resolved[0]]:
				traps.add(trapGoldRepeated, fmt.Sprintf("%s: %.60q", q.ID, p))
			default:
				q.Gold, given[resolved[0]] = append(q.Gold, resolved[0]), true
				if grade, graded := grades[p]; graded {
					q.grade(resolved[0], grade)
				}
			}
		}
		if err := b.Errata.apply(q, resolve, nil); err != nil {
			return err
		}
	}
	return dataset.JoinLines(bad)
}

// questionOf converts a line to a question. Its type comes from a tag type:X or category:X.
func questionOf(q dataset.Question) Question {
	out := Question{
		ID: q.ID, Type: noType, Text: q.Question, Date: dateOf(q.QuestionDate),
		Answer: q.ReferenceAnswer, Haystack: q.Brain, Brain: q.Brain,
		ExpectedSubstrings: q.ExpectedSubstrings, Checks: q.Checks, Tags: q.Tags, Line: q.Line,
		Abstention: slices.Contains(q.Tags, dataset.TagAbstention), Gold: q.ExpectedPaths, Grades: q.ExpectedGrades, Evidence: q.ExpectedEvidence,
	}
	for _, prefix := range []string{tagType, "category:"} {
		for _, tag := range q.Tags {
			if name, ok := strings.CutPrefix(tag, prefix); ok && name != "" && out.Type == noType {
				out.Type = name
			}
		}
	}
	return out
}

// dateOf converts a date accepted by dataset.Open to RFC 3339 in UTC.
func dateOf(text string) string {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return utc(t)
		}
	}
	return ""
}
