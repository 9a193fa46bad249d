package datasets_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/cases"
)

// question is one dataset line. Unlike evalctl, these tests reject unknown fields.
type question struct {
	ID              string   `json:"id"`
	Question        string   `json:"question"`
	QuestionDate    string   `json:"question_date"`
	Expected        []string `json:"expected_substrings"`
	ReferenceAnswer string   `json:"reference_answer"`
	ExpectedPaths   []string `json:"expected_paths"`
	Evidence        []string `json:"expected_evidence"`
	Tags            []string `json:"tags"`

	where string // file:line
}

func (q question) kind() string {
	if len(q.Tags) == 0 {
		return ""
	}
	return q.Tags[0]
}

// document is one corpus file, without its front matter.
type document struct {
	date time.Time
	text string
}

func fold(s string) string { return cases.Fold().String(s) }

func containsAny(folded string, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(s string) bool { return strings.Contains(folded, fold(s)) })
}

func sortedPaths(docs map[string]document) []string { return slices.Sorted(maps.Keys(docs)) }

func corpusDir(dataset string) string { return strings.TrimSuffix(dataset, ".jsonl") + ".corpus" }

func readDataset(t *testing.T, name string) []question {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var questions []question
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		q := question{where: name + ":" + strconv.Itoa(i+1)}
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&q); err != nil {
			t.Fatalf("%s: %v", q.where, err)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			t.Fatalf("%s: text after the JSON object", q.where)
		}
		questions = append(questions, q)
	}
	return questions
}

func questionTime(t *testing.T, q question) time.Time {
	t.Helper()
	if q.QuestionDate == "" {
		return time.Time{}
	}
	asked, err := time.Parse(time.RFC3339, q.QuestionDate)
	if err != nil {
		t.Errorf("%s: question_date: %v", q.where, err)
	}
	return asked
}

// readCorpus returns the documents of a dataset by path relative to its corpus.
func readCorpus(t *testing.T, dataset string) map[string]document {
	t.Helper()
	docs := map[string]document{}
	root := os.DirFS(corpusDir(dataset))
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() || filepath.Ext(path) != ".md" {
			t.Errorf("%s/%s: only regular .md files are allowed", corpusDir(dataset), path)
			return nil
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		docs[path] = parseDocument(t, path, string(data))
		return nil
	})
	if err != nil || len(docs) == 0 {
		t.Fatalf("corpus of %s: %d documents, error %v", dataset, len(docs), err)
	}
	return docs
}

func parseDocument(t *testing.T, path, data string) document {
	t.Helper()
	rest, found := strings.CutPrefix(data, "---\n")
	front, text, closed := strings.Cut(rest, "\n---\n")
	if !found || !closed {
		t.Errorf("%s: no front matter", path)
		return document{text: data}
	}
	var meta struct {
		Title string   `yaml:"title"`
		Date  string   `yaml:"date"`
		Tags  []string `yaml:"tags"`
	}
	dec := yaml.NewDecoder(strings.NewReader(front))
	dec.KnownFields(true)
	if err := dec.Decode(&meta); err != nil {
		t.Errorf("%s: front matter: %v", path, err)
	}
	date, err := time.Parse(time.DateOnly, meta.Date)
	if err != nil {
		t.Errorf("%s: front matter date: %v", path, err)
	}
	if meta.Title == "" || len(meta.Tags) == 0 {
		t.Errorf("%s: front matter has no title or no tags", path)
	}
	return document{date: date, text: text}
}

// unexpectedRune returns the first character that is hard to see in an editor: a control or format
// character, an unusual space, or invalid UTF-8.
func unexpectedRune(line string) (rune, bool) {
	for _, r := range line {
		if r == utf8.RuneError || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Zs, r) && r != ' ' {
			return r, true
		}
	}
	return 0, false
}
