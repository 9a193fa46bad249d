// Package datasets_test checks the datasets in this folder, so that an unfair or invalid question
// is found before it is used to evaluate a daemon.
package datasets_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/scorer"
)

// typeTags lists the types of questions. The first tag of every question is its type.
var typeTags = []string{"single-fact", "multi-document", "knowledge-update", "temporal", "preference", "abstention"}

// topicTags may follow the type. README.md explains both lists.
var topicTags = []string{
	"topic:boats", "topic:choir", "topic:events", "topic:garden", "topic:household", "topic:money",
	"topic:observatory", "topic:people", "topic:robotics", "topic:town", "topic:workshop",
}

var (
	idForm = regexp.MustCompile(`^[a-z][a-z0-9-]*-\d{3}$`)
	// Nearly every date contains a number of one or two digits.
	shortNumber = regexp.MustCompile(`^\d{1,2}$`)
)

func datasetNames(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no datasets found: %v", err)
	}
	// Its documents are written by its own questions: see lifecycle_test.go.
	return slices.DeleteFunc(names, func(name string) bool { return name == lifecycle })
}

func TestQuestionsAreWellFormed(t *testing.T) {
	ids := map[string]string{}
	for _, name := range datasetNames(t) {
		seen := map[string]string{}
		for _, q := range readDataset(t, name) {
			if prev, dup := ids[q.ID]; dup {
				t.Errorf("%s: id %s is already used at %s", q.where, q.ID, prev)
			}
			ids[q.ID] = q.where
			if !idForm.MatchString(q.ID) {
				t.Errorf("%s: id %q is not like core-001", q.where, q.ID)
			}
			text := fold(q.Question) + "|" + q.QuestionDate
			if prev, dup := seen[text]; dup {
				t.Errorf("%s: same question as %s", q.where, prev)
			}
			seen[text] = q.where
			if !strings.HasSuffix(q.Question, "?") {
				t.Errorf("%s: question does not end with a question mark", q.where)
			}
			if q.ReferenceAnswer == "" {
				t.Errorf("%s: no reference_answer", q.where)
			}
			checkTags(t, q)
			checkExpected(t, q)
		}
	}
}

func checkTags(t *testing.T, q question) {
	t.Helper()
	if len(q.Tags) == 0 || !slices.Contains(typeTags, q.Tags[0]) {
		t.Errorf("%s: first tag of %q is not one of %q", q.where, q.Tags, typeTags)
		return
	}
	for _, tag := range q.Tags[1:] {
		if !slices.Contains(topicTags, tag) {
			t.Errorf("%s: unknown topic tag %q", q.where, tag)
		}
	}
}

func checkExpected(t *testing.T, q question) {
	t.Helper()
	if len(q.Expected) == 0 {
		t.Errorf("%s: no expected_substrings", q.where)
	}
	for _, want := range q.Expected {
		switch {
		case want != strings.TrimSpace(want) || len(want) < 3:
			t.Errorf("%s: expected substring %q has surrounding blanks or fewer than three bytes", q.where, want)
		case shortNumber.MatchString(want):
			t.Errorf("%s: expected substring %q matches nearly any date: add a unit", q.where, want)
		case strings.Contains(fold(q.Question), fold(want)):
			t.Errorf("%s: the question contains the expected substring %q", q.where, want)
		}
	}
}

func TestCountsByType(t *testing.T) {
	counts := map[string]map[string]int{}
	totals := map[string]int{}
	for _, name := range datasetNames(t) {
		counts[name] = map[string]int{}
		for _, q := range readDataset(t, name) {
			counts[name][q.kind()]++
			totals[name]++
		}
	}
	if totals["smoke.jsonl"] != 24 {
		t.Errorf("smoke.jsonl has %d questions, want 24", totals["smoke.jsonl"])
	}
	if totals["core.jsonl"] < 160 {
		t.Errorf("core.jsonl has %d questions, want 160 or more", totals["core.jsonl"])
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range typeTags {
		core, smoke := counts["core.jsonl"][kind], counts["smoke.jsonl"][kind]
		if core < 20 {
			t.Errorf("core.jsonl has %d questions of type %s, want 20 or more", core, kind)
		}
		if smoke == 0 {
			t.Errorf("smoke.jsonl has no question of type %s", kind)
		}
		if row := fmt.Sprintf("| `%s` | %d | %d |", kind, core, smoke); !strings.Contains(string(readme), row) {
			t.Errorf("README.md does not contain the row %q", row)
		}
	}
}

func TestGoldDocuments(t *testing.T) {
	for _, name := range datasetNames(t) {
		docs := readCorpus(t, name)
		for _, q := range readDataset(t, name) {
			asked := questionTime(t, q)
			var gold strings.Builder
			var texts []string
			for _, path := range q.ExpectedPaths {
				doc, ok := docs[path]
				if !ok {
					t.Errorf("%s: expected path %q is not in the corpus", q.where, path)
				}
				if !asked.IsZero() && doc.date.After(asked) {
					t.Errorf("%s: %s is dated after question_date %s", q.where, path, q.QuestionDate)
				}
				gold.WriteString(fold(doc.text))
				texts = append(texts, doc.text)
			}
			checkEvidence(t, q, texts)
			checkGold(t, q, gold.String())
		}
	}
}

// checkEvidence checks that each gold document has a piece of evidence, and each piece a document.
func checkEvidence(t *testing.T, q question, texts []string) {
	t.Helper()
	for i, text := range texts {
		if !slices.ContainsFunc(q.Evidence, func(e string) bool { return scorer.Quotes(text, e) }) {
			t.Errorf("%s: no piece of evidence is from %s", q.where, q.ExpectedPaths[i])
		}
	}
	for _, e := range q.Evidence {
		if !slices.ContainsFunc(texts, func(text string) bool { return scorer.Quotes(text, e) }) {
			t.Errorf("%s: no gold document has %q", q.where, e)
		}
	}
}

// checkGold checks the gold documents that the type of a question requires. Answers to temporal and
// multi-document questions may have to be derived, so the documents need not contain them.
func checkGold(t *testing.T, q question, gold string) {
	t.Helper()
	unique := slices.Compact(slices.Sorted(slices.Values(q.ExpectedPaths)))
	if len(unique) != len(q.ExpectedPaths) {
		t.Errorf("%s: expected_paths names a document twice", q.where)
	}
	switch n := len(unique); q.kind() {
	case "abstention":
		if n != 0 {
			t.Errorf("%s: an abstention question has gold documents", q.where)
		}
	case "multi-document":
		if n < 2 {
			t.Errorf("%s: a multi-document question has %d gold documents", q.where, n)
		}
	case "temporal":
		if n == 0 || q.QuestionDate == "" {
			t.Errorf("%s: a temporal question needs gold documents and a question_date", q.where)
		}
	default:
		if n == 0 || !containsAny(gold, q.Expected) {
			t.Errorf("%s: no gold document contains any of %q", q.where, q.Expected)
		}
		if q.kind() == "knowledge-update" && q.QuestionDate == "" {
			t.Errorf("%s: a knowledge-update question needs a question_date", q.where)
		}
	}
}

func TestExactScorerIsFair(t *testing.T) {
	for _, name := range datasetNames(t) {
		for _, q := range readDataset(t, name) {
			for answer, want := range map[string]float64{"": 0, q.Question: 0, q.ReferenceAnswer: 1} {
				verdict, err := scorer.Exact{}.Score(t.Context(), scorer.Item{
					ID: q.ID, Question: q.Question, Expected: q.Expected, Reference: q.ReferenceAnswer, Answer: answer,
				})
				if err != nil {
					t.Errorf("%s: %v", q.where, err)
				} else if verdict.Score != want {
					t.Errorf("%s: answer %q scores %v, want %v", q.where, answer, verdict.Score, want)
				}
			}
		}
	}
}

// TestAbstainingPhrases: no document contains an abstaining phrase, because an answer that does not
// abstain could quote it.
func TestAbstainingPhrases(t *testing.T) {
	var shared []string
	for _, name := range datasetNames(t) {
		docs := readCorpus(t, name)
		for _, q := range readDataset(t, name) {
			if q.kind() != "abstention" {
				continue
			}
			if shared == nil {
				shared = q.Expected
			}
			if !slices.Equal(shared, q.Expected) {
				t.Errorf("%s: abstaining phrases differ from those of other questions", q.where)
			}
			for _, path := range sortedPaths(docs) {
				if containsAny(fold(docs[path].text), q.Expected) {
					t.Errorf("%s: %s contains an abstaining phrase", q.where, path)
				}
			}
		}
	}
}

func TestCorpusFiles(t *testing.T) {
	for _, name := range datasetNames(t) {
		docs := readCorpus(t, name)
		used := map[string]bool{}
		for _, q := range readDataset(t, name) {
			for _, path := range q.ExpectedPaths {
				used[path] = true
			}
		}
		for _, path := range sortedPaths(docs) {
			doc := docs[path]
			if words := len(strings.Fields(doc.text)); words < 60 || words > 400 {
				t.Errorf("%s: %d words, want 60 to 400", path, words)
			}
			checkWeekdays(t, path, doc)
		}
		t.Logf("%s: %d of %d documents are not gold for any question", name, len(docs)-len(used), len(docs))
	}
}

var weekdayDate = regexp.MustCompile(
	`((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day) (\d{1,2} (?:January|February|March|April|May|June|July|` +
		`August|September|October|November|December))`)

// checkWeekdays checks phrases such as "Friday 4 April" against the calendar. It assumes the year
// in which the day is nearest to the date of the document.
func checkWeekdays(t *testing.T, path string, doc document) {
	t.Helper()
	for _, m := range weekdayDate.FindAllStringSubmatch(doc.text, -1) {
		day, err := time.Parse("2 January", m[2])
		if err != nil {
			t.Errorf("%s: %q is not a date: %v", path, m[0], err)
			continue
		}
		var near []time.Time
		for year := doc.date.Year() - 1; year <= doc.date.Year()+1; year++ {
			near = append(near, time.Date(year, day.Month(), day.Day(), 0, 0, 0, 0, time.UTC))
		}
		nearest := slices.MinFunc(near, func(a, b time.Time) int {
			return cmp.Compare(a.Sub(doc.date).Abs(), b.Sub(doc.date).Abs())
		})
		if nearest.Weekday().String() != m[1] {
			t.Errorf("%s: %q, but the day is a %s", path, m[0], nearest.Weekday())
		}
	}
}

func TestTextIsClean(t *testing.T) {
	files := datasetNames(t)
	for _, name := range datasetNames(t) {
		for _, path := range sortedPaths(readCorpus(t, name)) {
			files = append(files, filepath.Join(corpusDir(name), filepath.FromSlash(path)))
		}
	}
	for _, file := range append(files, "README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(data, []byte("\n")) || bytes.HasSuffix(data, []byte("\n\n")) {
			t.Errorf("%s: does not end with exactly one newline", file)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if r, ok := unexpectedRune(line); ok {
				t.Errorf("%s:%d: unexpected character %U", file, i+1, r)
			}
		}
	}
}
