package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
	"evalctl/internal/stats"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

type datasetStatsCmd struct {
	datasetFile
	JSON bool `name:"json" help:"Print one JSON object."`
}

func (datasetStatsCmd) Help() string {
	return `Says what is in a dataset and its corpus: how many questions have what, how long they are, when they are
asked, how many gold documents they have, and what their tags and brains are. Lengths are in characters.

Examples:

  evalctl dataset stats datasets/core.jsonl
  evalctl dataset stats locomo.jsonl --json
`
}

// spread summarises numbers. It is nil for none.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
}

// spreadOf returns the summary of values, which it sorts.
func spreadOf(values []float64) *spread {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return &spread{
		Min: values[0], Median: stats.Percentile(values, 0.5), P95: stats.Percentile(values, 0.95),
		Max: values[len(values)-1], Mean: sum / float64(len(values)),
	}
}

// datasetStats is the JSON of stats.
type datasetStats struct {
	Dataset   string              `json:"dataset"`
	SHA256    string              `json:"sha256"`
	Questions int                 `json:"questions"`
	Has       map[scorer.Need]int `json:"has"`
	Length    *spread             `json:"question_characters"`
	Reference *spread             `json:"reference_characters"`
	Gold      *spread             `json:"gold_per_question"` // of questions with gold
	Dated     int                 `json:"dated"`
	First     string              `json:"first_date,omitempty"`
	Last      string              `json:"last_date,omitempty"`
	Tags      map[string]int      `json:"tags"`
	Corpus    *corpusStats        `json:"corpus,omitempty"`
	Brains    int                 `json:"brains"`
}

// corpusStats describes the documents.
type corpusStats struct {
	Path      string  `json:"path"`
	SHA256    string  `json:"sha256"`
	Documents int     `json:"documents"`
	Bytes     int     `json:"bytes"`
	Length    *spread `json:"document_characters"`
	PerBrain  *spread `json:"documents_per_brain"`
	// Gold is the number of documents that some question expects.
	Gold int `json:"gold"`
}

// Run prints the figures.
func (c *datasetStatsCmd) Run(p *process) error {
	flags := c.target()
	if err := checkFile(c.File); err != nil {
		return usageError{err}
	}
	pl := &plan{}
	scenario := target.Scenarios()[0]
	err := flags.planInput(pl, func(q dataset.Question) error {
		pl.needs.add(q.Item())
		return scenario.Check(q)
	})
	if err != nil {
		return usageError{err}
	}
	s, err := c.measure(pl)
	if err != nil {
		return usageError{err}
	}
	if c.JSON {
		return printJSON(p, s)
	}
	return output(p, func(t *terminal.Terminal) { s.print(t, pl) })
}

// measure computes the figures.
func (c *datasetStatsCmd) measure(pl *plan) (datasetStats, error) {
	d := pl.dataset
	s := datasetStats{
		Dataset: c.File, SHA256: d.SHA256, Questions: d.Total, Has: pl.needs.has, Tags: d.Tags,
		Brains: len(pl.brains),
	}
	var length, reference, gold []float64
	paths, used := dataset.PathsByBrain(pl.brains), map[[2]string]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return s, err
		}
		length = append(length, characters(q.Question))
		if q.ReferenceAnswer != "" {
			reference = append(reference, characters(q.ReferenceAnswer))
		}
		if n := len(q.ExpectedPaths); n > 0 {
			gold = append(gold, float64(n))
		}
		for _, path := range q.ExpectedPaths {
			if known := paths[q.Brain]; known.Has(known.Gold(path)) {
				used[[2]string{q.Brain, known.Gold(path)}] = true
			}
		}
		s.addDate(q.QuestionDate)
	}
	s.Length, s.Reference, s.Gold = spreadOf(length), spreadOf(reference), spreadOf(gold)
	if pl.corpus != nil {
		s.Corpus = measureCorpus(pl, len(used))
	}
	return s, nil
}

// addDate counts the date of a question, if it has one. Days are compared as the dataset has them.
func (s *datasetStats) addDate(date string) {
	if date == "" {
		return
	}
	s.Dated++
	day := date[:len("2025-03-14")]
	s.First = min(cmp.Or(s.First, day), day)
	s.Last = max(s.Last, day)
}

func measureCorpus(pl *plan, gold int) *corpusStats {
	c := &corpusStats{
		Path: pl.corpus.Path, SHA256: pl.corpus.SHA256, Documents: len(pl.corpus.Docs), Gold: gold,
	}
	var length, perBrain []float64
	for _, d := range pl.corpus.Docs {
		c.Bytes += len(d.Data)
		length = append(length, float64(utf8.RuneCount(d.Data)))
	}
	for _, b := range pl.brains {
		perBrain = append(perBrain, float64(len(b.Docs)))
	}
	c.Length, c.PerBrain = spreadOf(length), spreadOf(perBrain)
	return c
}

func characters(text string) float64 { return float64(utf8.RuneCountInString(text)) }

// print writes the figures as tables.
func (s datasetStats) print(t *terminal.Terminal, pl *plan) {
	t.Field("dataset", "%s  %s  sha256 %s", terminal.Line(s.Dataset), count(s.Questions, "question"),
		digest(s.SHA256))
	var has []string
	for _, k := range scorer.Kinds() {
		has = append(has, fmt.Sprintf("%s %d", k.Needs, s.Has[k.Needs]))
	}
	t.Field("have", "%s", strings.Join(has, "  "))
	if s.Dated > 0 {
		t.Field("dates", "%d from %s to %s", s.Dated, s.First, s.Last)
	}
	if c := s.Corpus; c != nil {
		t.Field("corpus", "%s  %s  %s  %d of them gold", terminal.Line(c.Path), count(c.Documents, "document"),
			megabytes(int64(c.Bytes)), c.Gold)
	}
	printBrains(t, pl.brains)
	printInputWarnings(t, pl.dataset, pl.corpus)
	t.Blank()
	t.Table(s.spreads())
	if len(s.Tags) > 0 {
		t.Table(tagRows(s.Tags, s.Questions))
	}
}

// spreads returns the rows of the table of lengths and counts.
func (s datasetStats) spreads() [][]string {
	rows := [][]string{{"", "min", "median", "p95", "max", "mean"}}
	add := func(name string, v *spread) {
		if v != nil {
			rows = append(rows, []string{
				name, number(v.Min), number(v.Median), number(v.P95), number(v.Max), fmt.Sprintf("%.1f", v.Mean),
			})
		}
	}
	add("question, characters", s.Length)
	add("reference answer, characters", s.Reference)
	add("gold documents of a question", s.Gold)
	if c := s.Corpus; c != nil {
		add("document, characters", c.Length)
		if s.Brains > 1 {
			add("documents of a brain", c.PerBrain)
		}
	}
	return rows
}

// number formats a number without needless decimals.
func number(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// listedTags is the maximum number of tags in a table.
const listedTags = 40

// tagRows returns the table of tags, the most frequent first.
func tagRows(tags map[string]int, questions int) [][]string {
	names := slices.SortedFunc(maps.Keys(tags), func(a, b string) int {
		return cmp.Or(tags[b]-tags[a], strings.Compare(a, b))
	})
	rows := [][]string{{"tag", "questions", "share"}}
	for i, name := range names {
		if i == listedTags {
			rows = append(rows, []string{fmt.Sprintf("… and %d more", len(names)-i), "", ""})
			break
		}
		rows = append(rows, []string{
			terminal.Short(name, 40), fmt.Sprint(tags[name]), fmt.Sprintf("%.1f%%", 100*float64(tags[name])/float64(questions)),
		})
	}
	return rows
}
