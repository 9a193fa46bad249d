package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
)

// detailed limits the number of questions with details on a page. Questions that did not pass come
// first.
const detailed = 2000

// listText limits a question's text in a list, in bytes.
const listText = 160

// questions is the list of all questions of a result.
type questions struct {
	Items []question
	// Statuses, Tags and Stages are the filters of the list.
	Statuses []status
	Tags     []string
	Stages   []string
	// WithoutDetails is the number of questions without details.
	WithoutDetails int
}

// status is an outcome of questions, with the number of questions. Class is its colour, and Word
// the key of the filter.
type status struct {
	Class, Mark, Word string
	N                 int
}

// question is one line of the list with its details.
type question struct {
	// N is the place in the result file, from 1. It is also the link target.
	N           int
	ID          string
	Repeat      int
	Class, Word string
	Text        string
	Tags        []string
	// TagKeys has the indexes of its tags, each between blanks.
	TagKeys        string
	Stage          string
	Score, Latency string
	// SortScore and SortLatency are numbers, empty for none.
	SortScore, SortLatency string
	// Detail is nil if the page would be too large.
	Detail *detail
}

// outcomes has the status of every outcome, in the order of the filter.
var outcomes = []status{
	{Class: "fail", Mark: "✗", Word: "failed"},
	{Class: "error", Mark: "!", Word: "error"},
	{Class: "unscored", Mark: "?", Word: "unscored"},
	{Class: "none", Mark: "–", Word: "no gold"},
	{Class: "pass", Mark: "✓", Word: "passed"},
	{Class: "none", Mark: "∅", Word: "not measurable"},
	{Class: "none", Mark: "·", Word: "unjudged"},
}

func statusOf(q *result.Record) int {
	switch {
	case q.Passed:
		return 4
	case q.Outcome == result.Errored:
		return 1
	case q.Outcome == result.Unscored:
		return 2
	case q.Outcome == result.NoGold:
		return 3
	case q.Outcome == result.NotMeasurable:
		return 5
	case q.Outcome == result.Unjudged:
		return 6
	}
	return 0
}

// newQuestions returns the list of the questions of a result.
func newQuestions(c Content) *questions {
	list := &questions{}
	tags, stages := map[string]int{}, map[string]bool{}
	counted := slices.Clone(outcomes)
	failed := 0
	for i := range c.Questions {
		q := &c.Questions[i]
		counted[statusOf(q)].N++
		if !q.Passed {
			failed++
		}
		for _, t := range q.Tags {
			if !c.Result.Duplicate(t) {
				tags[t] = 0
			}
		}
		if s := stageOf(c.Result, q); s != "" {
			stages[s] = true
		}
	}
	for i, tag := range slices.Sorted(maps.Keys(tags)) {
		tags[tag] = i
		list.Tags = append(list.Tags, name(tag))
	}
	list.Stages = slices.Sorted(maps.Keys(stages))
	for _, s := range counted {
		if s.N > 0 {
			list.Statuses = append(list.Statuses, s)
		}
	}
	limits := limitsFor(c.Questions)
	forFailed, forPassed := min(failed, detailed), detailed-min(failed, detailed)
	for i := range c.Questions {
		q := &c.Questions[i]
		item := lineOf(c.Result, q, i+1, tags)
		left := &forFailed
		if q.Passed {
			left = &forPassed
		}
		if *left > 0 {
			*left--
			item.Detail = detailOf(q, limits)
		} else {
			list.WithoutDetails++
		}
		list.Items = append(list.Items, item)
	}
	return list
}

// stageOf returns the stage that lost a question, empty if it passed.
func stageOf(res *result.Result, q *result.Record) string {
	if q.Cause != "" {
		return name(string(q.Cause))
	}
	return string(q.LostAt(res.Identity.Scenario, res.Identity.TopK))
}

func lineOf(res *result.Result, q *result.Record, n int, tags map[string]int) question {
	s := outcomes[statusOf(q)]
	item := question{
		N: n, ID: name(q.ID), Repeat: q.Repeat, Class: s.Class, Word: s.Word,
		Text: line(q.Question, listText), Stage: stageOf(res, q), Score: "–", Latency: "–",
	}
	if q.Score != nil {
		item.Score = fmt.Sprintf("%.3g", *q.Score)
		item.SortScore = strconv.FormatFloat(*q.Score, 'g', 6, 64)
	}
	if q.Attempts > 0 && q.Timed() {
		item.Latency = milliseconds(q.LatencyMS)
		item.SortLatency = strconv.FormatFloat(q.LatencyMS, 'f', 1, 64)
	}
	var keys strings.Builder
	for _, t := range q.Tags {
		if n, ok := tags[t]; ok {
			fmt.Fprintf(&keys, " %d ", n)
			item.Tags = append(item.Tags, name(t))
		}
	}
	item.TagKeys = keys.String()
	return item
}

func (list *questions) section() form.Section {
	s := form.Section{ID: "questions", Title: fmt.Sprintf("Questions: %d", len(list.Items))}
	if len(list.Items) > 0 {
		s.Show(form.HTML, list)
	}
	return s
}
