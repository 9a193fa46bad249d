package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/search/question"
)

// textKey is the wire key of a request's text, with its limits.
type textKey struct {
	name           string
	maxChars, topK int
}

var (
	searchText = textKey{"query", protocol.MaxSearchQuery, protocol.MaxSearchTopK}
	askText    = textKey{"question", protocol.MaxAskQuery, protocol.MaxAskTopK}
	recallText = textKey{"query", protocol.MaxSearchQuery, protocol.MaxRecallTopK}
)

// The values of arguments with a fixed choice.
var (
	scopes = []string{protocol.ScopeAll, protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent}
	sorts  = []string{protocol.SortRelevance, protocol.SortRecency, protocol.SortRelevanceThenRecency}
)

// parseQuery converts the fields that a search and an ask share. Its errors are *ArgumentError.
func parseQuery(r protocol.SearchRequest, text textKey) (search.Query, error) {
	q := search.Query{
		Text: r.Query, Mode: search.Mode(cmp.Or(r.Mode, protocol.ModeAuto)),
		Sort: search.Sort(cmp.Or(r.Sort, protocol.SortRelevance)),
		TopK: cmp.Or(r.TopK, protocol.DefaultTopK), CandidateK: r.CandidateK, RerankTopN: r.RerankTopN, Explain: r.Explain,
	}
	if err := cmp.Or(
		checkText(text.name, r.Query, text.maxChars),
		checkNumber("top_k", q.TopK, 1, text.topK),
		checkNumber("candidate_k", r.CandidateK, 0, protocol.MaxCandidateK),
		checkNumber("rerank_top_n", r.RerankTopN, 0, protocol.MaxRerankTopN),
		checkChoice("mode", r.Mode, protocol.Modes),
		checkChoice("scope", r.Scope, scopes),
		checkChoice("sort", r.Sort, sorts),
	); err != nil {
		return search.Query{}, err
	}
	q.MaxPerDocument, q.FillPlaces = 1, true
	if r.MaxPerDocument != nil {
		q.MaxPerDocument, q.FillPlaces = *r.MaxPerDocument, false
	}
	if err := checkNumber("max_per_document", q.MaxPerDocument, 0, protocol.MaxSearchTopK); err != nil {
		return search.Query{}, err
	}
	var err error
	if q.AsOf, err = parseDate("question_date", r.QuestionDate, endOfDay); err != nil {
		return search.Query{}, err
	}
	if q.Filter, err = parseFilters(r.Filters); err != nil {
		return search.Query{}, err
	}
	q.Filter.Scope = cmp.Or(r.Scope, protocol.ScopeAll)
	return q, nil
}

// readOperators moves the operators in a query's text to its conditions, and returns them as
// written. If given is true, the text has operators even if it looks like a sentence.
func readOperators(q *search.Query, given bool) ([]string, error) {
	parse := question.ParseOperators
	if given {
		parse = question.GivenOperators
	}
	words, conditions, operators := parse(q.Text)
	if len(operators) > 0 && strings.TrimSpace(words) == "" {
		return nil, argumentErrorf("query", "only says what passages must not contain, %.64q: "+
			"add what they should contain, or put it in quotes to search for it", strings.Join(operators, " "))
	}
	q.Text, q.Conditions = words, conditions
	return operators, nil
}

func parseFilters(f protocol.SearchFilters) (search.Filter, error) {
	filter := search.Filter{
		PathPrefix: f.PathPrefix, Paths: f.Paths, Tags: f.Tags, SessionIDs: f.SessionIDs, Generated: f.IncludeGenerated,
	}
	err := cmp.Or(
		checkList("filters.paths", f.Paths),
		checkList("filters.tags", f.Tags),
		checkList("filters.session_ids", f.SessionIDs),
	)
	if err != nil {
		return search.Filter{}, err
	}
	if filter.From, err = parseDate("filters.date_from", f.DateFrom, startOfDay); err != nil {
		return search.Filter{}, err
	}
	if filter.To, err = parseDate("filters.date_to", f.DateTo, endOfDay); err != nil {
		return search.Filter{}, err
	}
	filter.FromDay, filter.ToDay = isDay(f.DateFrom), isDay(f.DateTo)
	if !filter.From.IsZero() && !filter.To.IsZero() && filter.To.Before(filter.From) {
		return search.Filter{}, argumentErrorf("filters.date_to", "%s is before date_from, %s", f.DateTo, f.DateFrom)
	}
	return filter, nil
}

// checkText, like the checks below, returns error instead of *ArgumentError, so that cmp.Or finds
// the first one that is not nil.
func checkText(name, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return argumentErrorf(name, "is missing or blank")
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return argumentErrorf(name, "has %d characters, the limit is %d", n, limit)
	}
	return nil
}

func checkNumber(name string, n, least, most int) error {
	if n < least || n > most {
		return argumentErrorf(name, "%d is not between %d and %d", n, least, most)
	}
	return nil
}

// checkChoice accepts an empty value, which means the default.
func checkChoice(name, value string, choices []string) error {
	if value != "" && !slices.Contains(choices, value) {
		return argumentErrorf(name, "%.64q is not one of %s", value, strings.Join(choices, ", "))
	}
	return nil
}

func checkList(name string, list []string) error {
	switch {
	case list != nil && len(list) == 0:
		return argumentErrorf(name, "is empty: leave it out to let every document pass")
	case len(list) > protocol.MaxFilterValues:
		return argumentErrorf(name, "has %d values, the limit is %d", len(list), protocol.MaxFilterValues)
	case slices.Contains(list, ""):
		return argumentErrorf(name, "has an empty value")
	}
	return nil
}

// A date without a time of day means the first or the last instant of that day in UTC, so that a
// range includes the documents of its first and last day.
const (
	startOfDay = time.Duration(0)
	endOfDay   = 24*time.Hour - time.Nanosecond
)

// isDay reports whether a date that parseDate accepts has no time of day.
func isDay(date string) bool { return len(date) == len(time.DateOnly) }

// parseDate parses an RFC 3339 time, or a day, to which it adds instant. An empty date is the zero
// time.
func parseDate(name, date string, instant time.Duration) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, date); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return time.Time{}, argumentErrorf(name, "%.64q is neither an RFC 3339 time nor YYYY-MM-DD", date)
	}
	return t.Add(instant), nil
}
