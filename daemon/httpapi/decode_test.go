package httpapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

func TestDecodeAcceptsBothSpellings(t *testing.T) {
	want := protocol.AskRequest{Question: "q", TopK: 5, ReaderMode: "basic", QuestionDate: "2024-05-01"}
	for _, body := range []string{
		`{"question":"q","top_k":5,"reader_mode":"basic","question_date":"2024-05-01"}`,
		`{"query":"q","topK":5,"readerMode":"basic","questionDate":"2024-05-01"}`,
		` { "question":"q", "query":"\u0071", "top_k":5, "topK":5.0, "readerMode":"basic", "questionDate":"2024-05-01", "extra":{"a":[1]}, "TOP_K":9, "top_K":9, "Question":"z", "que\u017ftion":"z" } `,
	} {
		var got protocol.AskRequest
		// 5.0 equals 5, and the first spelling is decoded.
		err := decode([]byte(body), aliases{"query": "question"}, &got)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestFiltersAcceptBothSpellings(t *testing.T) {
	want := protocol.SearchRequest{Query: "q", Filters: protocol.SearchFilters{
		PathPrefix: "a/", Paths: []string{"a/b.md"}, Tags: []string{"x", "y"}, SessionIDs: []string{"s"},
		DateFrom: "2024-01-01", DateTo: "2024-01-02", IncludeGenerated: true,
	}}
	for _, body := range []string{
		`{"query":"q","filters":{"path_prefix":"a/","paths":["a/b.md"],"tags":["x","y"],"session_ids":["s"],"date_from":"2024-01-01","date_to":"2024-01-02","include_generated":true}}`,
		`{"query":"q","filters":{"pathPrefix":"a/","paths":["a/b.md"],"tags":["x","y"],"sessionIds":["s"],"dateFrom":"2024-01-01","dateTo":"2024-01-02","includeGenerated":true,
			"session_ids":[ "s" ],"date_to":"2024-01-0\u0032"}}`,
	} {
		var got protocol.SearchRequest
		if err := decodeFiltered([]byte(body), nil, protocol.MaxSearchTopK, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		// The daemon reads what package client sends.
		var again protocol.SearchRequest
		if err := decodeFiltered(encode(got), nil, protocol.MaxSearchTopK, &again); err != nil || !cmp.Equal(got, again) {
			t.Errorf("%s: read back as %+v, %v", encode(got), again, err)
		}
	}
	for _, none := range []string{`{"query":"q","filters":null}`, `{"query":"q","filters":{}}`, `{"query":"q","filters":{"tags":null}}`} {
		var got protocol.SearchRequest
		if err := decodeFiltered([]byte(none), nil, protocol.MaxSearchTopK, &got); err != nil || !cmp.Equal(got, protocol.SearchRequest{Query: "q"}) {
			t.Errorf("%s: %+v, %v", none, got, err)
		}
	}
}

// FuzzDecodeFilters: accepted filters are exactly those of the body. A top_k of 0 is never
// accepted.
func FuzzDecodeFilters(f *testing.F) {
	f.Add([]byte(`{"filters":{"tags":["a"],"pathPrefix":"b","date_to":""}}`))
	f.Add([]byte(`{"filters":{"tags":[]},"filters":{"tags":[]}}`))
	f.Add([]byte(`{"filters":{"TAGS":["a"]}}`))
	f.Add([]byte(`{"filters":{"paths":[null]}}`))
	f.Add([]byte(`{"filters":{"tags":["a"],"tag\u017f":1}}`))
	f.Add([]byte(`{"topK":0,"top_k":-0}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got protocol.SearchRequest
		if decodeFiltered(body, nil, protocol.MaxSearchTopK, &got) != nil {
			return
		}
		object := objectOf(t, body)
		for key, value := range object {
			name, _ := canonical(key, nil)
			if n, ok := value.(json.Number); ok && name == "top_k" && (n == "0" || got.TopK == 0) {
				t.Fatalf("%s: accepted, with a top_k of %d", body, got.TopK)
			}
		}
		filters, _ := object["filters"].(map[string]any)
		for key, value := range filters {
			name, _ := canonical(key, nil)
			if !slices.Contains(filterKeys, name) {
				t.Fatalf("accepted the filter %q", key)
			}
			if list, ok := value.([]any); ok && len(list) != len(map[string][]string{
				"paths": got.Filters.Paths, "tags": got.Filters.Tags, "session_ids": got.Filters.SessionIDs}[name]) {
				t.Fatalf("%s: decoded as %+v", body, got.Filters)
			}
			if text, ok := value.(string); ok && text != map[string]string{
				"path_prefix": got.Filters.PathPrefix, "date_from": got.Filters.DateFrom, "date_to": got.Filters.DateTo}[name] {
				t.Fatalf("%s: decoded as %+v", body, got.Filters)
			}
		}
		if len(filters) == 0 && !cmp.Equal(got.Filters, protocol.SearchFilters{}) {
			t.Fatalf("%s has no filters, decoded as %+v", body, got.Filters)
		}
	})
}

// objectOf parses a body that was accepted. Numbers may have any size.
func objectOf(t *testing.T, body []byte) (object map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		t.Fatalf("an accepted body is not a JSON object: %v", err)
	}
	return object
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"question":"q","query":"q","top_k":5,"topK":5}`))
	f.Add([]byte(`{"a":1}{}`))
	f.Add([]byte(`{"topK":1e400,"top_k":null}`))
	f.Add([]byte(`{"colour":1e700}`))
	f.Add([]byte("{\"\xff\":1}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got protocol.AskRequest
		if decode(body, aliases{"query": "question"}, &got) != nil {
			return
		}
		object := objectOf(t, body)
		for _, key := range []string{"question", "query"} {
			if s, ok := object[key].(string); ok && s != got.Question {
				t.Fatalf("%s is %q, decoded as %q", key, s, got.Question)
			}
		}
	})
}
