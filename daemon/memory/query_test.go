package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func TestParseQuery(t *testing.T) {
	r := protocol.SearchRequest{
		Query: "whale", TopK: 7, Mode: "hybrid-rerank", Scope: "project", Sort: "recency", QuestionDate: "2024-05-01",
		CandidateK: 1000, RerankTopN: 200, Explain: true, MaxPerDocument: new(2),
		Filters: protocol.SearchFilters{
			PathPrefix: "memory/", Paths: []string{"a.md"}, Tags: []string{"b", "c"}, SessionIDs: []string{"d"},
			DateFrom: "2024-04-30", DateTo: "2024-04-30", IncludeGenerated: true,
		},
	}
	last := 24*time.Hour - time.Nanosecond
	want := search.Query{
		Text: "whale", TopK: 7, Mode: protocol.ModeHybridRerank, Sort: protocol.SortRecency, AsOf: day(2024, 5, 1).Add(last),
		CandidateK: 1000, RerankTopN: 200, Explain: true, MaxPerDocument: 2,
		Filter: search.Filter{
			PathPrefix: "memory/", Paths: []string{"a.md"}, Tags: []string{"b", "c"}, SessionIDs: []string{"d"},
			From: day(2024, 4, 30), To: day(2024, 4, 30).Add(last), FromDay: true, ToDay: true, Scope: protocol.ScopeProject, Generated: true,
		},
	}
	got, err := parseQuery(r, searchText)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	want = search.Query{Text: "whale", TopK: 10, Mode: protocol.ModeAuto, Sort: protocol.SortRelevance, MaxPerDocument: 1, FillPlaces: true,
		Filter: search.Filter{Scope: protocol.ScopeAll}}
	got, err = parseQuery(protocol.SearchRequest{Query: "whale"}, askText)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestParseQueryRefuses(t *testing.T) {
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	filters := func(f protocol.SearchFilters) protocol.SearchRequest {
		return protocol.SearchRequest{Query: "x", Filters: f}
	}
	tests := []struct {
		name string
		r    protocol.SearchRequest
		want string // of the error; empty when accepted
	}{
		{"no query", protocol.SearchRequest{}, "query: is missing or blank"},
		{"long query", protocol.SearchRequest{Query: strings.Repeat("é", 4097)}, "query: "},
		{"longest query", protocol.SearchRequest{Query: strings.Repeat("é", 4096)}, ""},
		{"mode", protocol.SearchRequest{Query: "x", Mode: "Auto"}, `mode: "Auto" is not one of auto, bm25, semantic, hybrid, hybrid-rerank`},
		{"scope", protocol.SearchRequest{Query: "x", Scope: "mine"}, `scope: "mine" is not one of all, global, project, agent`},
		{"sort", protocol.SearchRequest{Query: "x", Sort: "newest"}, `sort: "newest" is not one of relevance, recency, relevance_then_recency`},
		{"long value", protocol.SearchRequest{Query: "x", Sort: strings.Repeat("é", 9999)}, `sort: "` + strings.Repeat("é", 64) + `" is not one of`},
		{"candidate_k", protocol.SearchRequest{Query: "x", CandidateK: 1001}, "candidate_k: 1001 is not between 0 and 1000"},
		{"rerank_top_n", protocol.SearchRequest{Query: "x", RerankTopN: 201}, "rerank_top_n: 201 is not between 0 and 200"},
		{"max_per_document", protocol.SearchRequest{Query: "x", MaxPerDocument: new(101)}, "max_per_document: 101 is not between 0 and 100"},
		{"top_k", protocol.SearchRequest{Query: "x", TopK: 101}, "top_k: 101 is not between 1 and 100"},
		{"top_k below", protocol.SearchRequest{Query: "x", TopK: -1}, "top_k: -1 is not between"},
		{"most", protocol.SearchRequest{Query: "x", TopK: 100, CandidateK: 1000, RerankTopN: 200, MaxPerDocument: new(100)}, ""},
		{"candidate_k below", protocol.SearchRequest{Query: "x", CandidateK: -1}, "candidate_k: -1 is not between"},
		{"rerank_top_n below", protocol.SearchRequest{Query: "x", RerankTopN: -1}, "rerank_top_n: -1 is not between"},
		{"question_date", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-30"}, "question_date: "},
		{"question_date in words", protocol.SearchRequest{Query: "x", QuestionDate: "yesterday"}, "question_date: "},
		{"question_date a day", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29"}, ""},
		{"question_date a time", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29T10:00:00+02:00"}, ""},
		{"256 paths", filters(protocol.SearchFilters{Paths: many[:256]}), ""},
		{"257 paths", filters(protocol.SearchFilters{Paths: many}), "filters.paths: has 257 values, the limit is 256"},
		{"257 tags", filters(protocol.SearchFilters{Tags: many}), "filters.tags: has 257 values"},
		{"257 sessions", filters(protocol.SearchFilters{SessionIDs: many}), "filters.session_ids: has 257 values"},
		{"no tags", filters(protocol.SearchFilters{Tags: []string{}}), "filters.tags: is empty: leave it out"},
		{"empty session", filters(protocol.SearchFilters{SessionIDs: []string{"a", ""}}), "filters.session_ids: has an empty value"},
		{"date_from", filters(protocol.SearchFilters{DateFrom: "2024-13-01"}), `filters.date_from: "2024-13-01" is neither`},
		{"date_to", filters(protocol.SearchFilters{DateTo: "2024-01-01 10:00"}), "filters.date_to"},
		{"inverted", filters(protocol.SearchFilters{DateFrom: "2024-01-02", DateTo: "2024-01-01"}), "filters.date_to: 2024-01-01 is before date_from, 2024-01-02"},
		{"inverted in a day", filters(protocol.SearchFilters{DateFrom: "2024-01-01T10:00:00Z", DateTo: "2024-01-01T10:59:59+01:00"}), "filters.date_to: 2024-01-01T10:59:59+01:00 is before date_from"},
		{"one day", filters(protocol.SearchFilters{DateFrom: "2024-01-01", DateTo: "2024-01-01"}), ""},
		{"one instant", filters(protocol.SearchFilters{DateFrom: "2024-01-01T10:00:00Z", DateTo: "2024-01-01T11:00:00+01:00"}), ""},
		{"only the end", filters(protocol.SearchFilters{DateTo: "1999-01-01"}), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseQuery(tt.r, searchText)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := parseQuery(protocol.SearchRequest{Query: "x", TopK: 51}, askText); !isArgument(err, "top_k") {
		t.Errorf("an ask for 51: %v", err)
	}
	if _, err := parseQuery(protocol.SearchRequest{}, askText); !isArgument(err, "question") {
		t.Errorf("an ask without a question: %v", err)
	}
}
