package source

import (
	"cmp"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/scorer"
)

// Question is a question of a benchmark.
type Question struct {
	ID   string
	Type string // its stratum, never empty
	Text string
	Date string // when it is asked, RFC 3339 in UTC, empty if the file does not say
	// Answer is the reference answer. For an abstention question, it says that the haystack does
	// not contain the answer.
	Answer     string
	Abstention bool
	Haystack   string // the id of its haystack
	Brain      string // the brain of its haystack
	// Gold are the paths of the gold documents, each once, in file order.
	Gold []string
	// Grades are the grades of gold documents by path, 1 if absent.
	Grades map[string]float64
	// Evidence are the texts of the turns that contain the answer, each once, as far as the file
	// has them.
	Evidence []string
	// Topical is set if the gold documents are about the question's subject but do not contain the
	// answer. Retrieval is then not measured.
	Topical bool
	// Checks are the nuggets of a rubric or the right option of a multiple choice, else nil.
	Checks []scorer.Check
	// ExpectedSubstrings and Tags come from a JSONL line.
	ExpectedSubstrings []string
	Tags               []string
	Line               int // of a file in JSONL, counted from 1
	// Erratum is a known error in the gold, nil if there is none.
	Erratum *Erratum
}

// tagType is the prefix of the tag with the question's type.
const tagType = "type:"

// judgeTypes maps question types to types of judgement. Others are standard.
var judgeTypes = map[string]string{
	"temporal-reasoning":        scorer.TypeTemporal,
	"temporal":                  scorer.TypeTemporal,
	"knowledge-update":          scorer.TypeKnowledgeUpdate,
	"single-session-preference": scorer.TypePreference,
	"temporal_reasoning":        scorer.TypeTemporal,
	"knowledge_update":          scorer.TypeKnowledgeUpdate,
	"preference_following":      scorer.TypePreference,
	"instruction_following":     scorer.TypePreference,
	plusType:                    scorer.TypePreference,

	"preference_evidence":          scorer.TypePreference,
	"implicit_connection_evidence": scorer.TypePreference,
}

// JudgeType returns the type of judgement, one of scorer.Types.
func (q Question) JudgeType() string {
	if q.Abstention {
		return scorer.TypeAbstention
	}
	return cmp.Or(judgeTypes[q.Type], scorer.TypeStandard)
}

// Dataset returns the question as a run asks it. The first tag is its type.
func (q Question) Dataset() dataset.Question {
	d := dataset.Question{
		ID: q.ID, Question: q.Text, QuestionDate: q.Date, ReferenceAnswer: q.Answer,
		ExpectedSubstrings: q.ExpectedSubstrings, Tags: q.tags(), Brain: q.Brain, Line: q.Line,
		Type: q.Type, JudgeType: q.JudgeType(), Checks: q.Checks,
	}
	if !q.Topical {
		d.ExpectedPaths, d.ExpectedGrades, d.ExpectedEvidence = q.Gold, q.goldGrades(), q.Evidence
	}
	if text := strings.TrimSpace(q.Answer); d.ExpectedSubstrings == nil && text != "" {
		d.ExpectedSubstrings = []string{text}
	}
	return d
}

// addEvidence adds the text of a turn that has the answer, unless it has no words.
func (q *Question) addEvidence(text string) {
	if scorer.HasWords(text) && !slices.Contains(q.Evidence, text) {
		q.Evidence = append(q.Evidence, text)
	}
}

// goldGrades returns the grades of the gold documents. Errata may have removed a graded one.
func (q Question) goldGrades() map[string]float64 {
	var grades map[string]float64
	for _, path := range q.Gold {
		if grade, graded := q.Grades[path]; graded {
			if grades == nil {
				grades = map[string]float64{}
			}
			grades[path] = grade
		}
	}
	return grades
}

// grade sets the grade of a gold document.
func (q *Question) grade(path string, grade float64) {
	if q.Grades == nil {
		q.Grades = map[string]float64{}
	}
	q.Grades[path] = grade
}

// tags returns the tags of the question, with its type first.
func (q Question) tags() []string {
	tags := []string{tagType + q.Type}
	if q.Abstention {
		tags = append(tags, dataset.TagAbstention)
	}
	seen := make(map[string]bool, len(tags)+len(q.Tags))
	for _, t := range tags {
		seen[t] = true
	}
	for _, t := range q.Tags {
		if !seen[t] {
			tags, seen[t] = append(tags, t), true
		}
	}
	return tags
}
