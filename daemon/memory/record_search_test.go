package memory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// frontMatters generates the lines between the fences, as people and programs write them.
func frontMatters() *rapid.Generator[string] {
	key := rapid.SampledFrom([]string{
		"title", "tags", "date", "created_at", "source", "session_id", "version", "k", "'a b'", "<<", "? [x]\n",
	})
	value := rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "~", "null", "true", "True", "0012", "12", "1.10", "1.5", "1e3", "1e+06", "-0", ".nan", "18446744073709551615",
			"a, b", "[a, b]", "[' a', 'b,c', null, 7]", "', ,'", "{a: b}", "*x", "&x y", "'  '", "\"5\"", "!!str 5", "!!binary eA==",
			"2024/5/8", "2024-05-08", "8 May 2024", "2024-05-08T12:00:00.123+02:00", "2024-02-30", "soon", "0001-01-01T00:00:00Z",
			"ingest", "reflect", "web", "|\n  two\n  lines", "\"\\u00e9\\t\"", "caf\xe9",
		}),
		rapid.StringMatching(`[-:#&*!|>'"%@ a-c0-9,\[\]{}~./]{0,12}`),
	)
	line := rapid.Custom(func(t *rapid.T) string { return key.Draw(t, "key") + ": " + value.Draw(t, "value") })
	return rapid.Map(rapid.SliceOfN(line, 0, 6), func(lines []string) string { return strings.Join(lines, "\n") })
}

// TestRecordAndHitAgree checks that a document's record and a search hit carry the same values, and
// that filtering by them finds the document.
func TestRecordAndHitAgree(t *testing.T) {
	s := open(t)
	st := s.store(t)
	t.Run("written by path", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			end := rapid.SampledFrom([]string{"\n---\n", "\n...\n", "\n---\r\n", "\n"}).Draw(t, "end")
			text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + "---\n" + frontMatters().Draw(t, "front matter") + end + "walrus"
			if err := st.Write(t.Context(), "a.md", []byte(text)); err != nil {
				t.Fatal(err)
			}
			checkAgreement(t, s, "a.md")
		})
	})
	t.Run("created", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			content := "walrus"
			if front := frontMatters().Draw(t, "front matter"); rapid.Bool().Draw(t, "with front matter") {
				content = "---\n" + front + "\n---\nwalrus"
			}
			r := protocol.CreateDocument{
				Content: strings.ToValidUTF8(content, "?"), Path: "b.md",
				Title: rapid.SampledFrom([]string{"", "A  title", "0012"}).Draw(t, "title"),
				Tags:  rapid.SliceOfN(rapid.SampledFrom([]string{" a", "b c", "0012", "null"}), 0, 3).Draw(t, "tags"),
				Metadata: rapid.MapOfN(
					rapid.SampledFrom([]string{"session_id", "date", "k", "version"}),
					rapid.SampledFrom([]any{"0012", "1.10", 12., 1.5, true, nil, "2024/5/8", "soon"}), 0, 3).Draw(t, "metadata"),
				Source: rapid.SampledFrom([]string{"", "ingest", "compile"}).Draw(t, "source"),
			}
			if err := st.Delete(t.Context(), r.Path); err != nil && !store.IsNotFound(err) {
				t.Fatal(err)
			}
			if _, err := s.CreateDocument(t.Context(), s.brain, r); isArgument(err, "metadata") {
				t.Skip(err) // front matter that cannot take more
			} else if err != nil {
				t.Fatal(err)
			}
			checkAgreement(t, s, "b.md")
		})
	})
}

func checkAgreement(t *rapid.T, s *fixture, path string) {
	record, err := s.Document(t.Context(), s.brain, path)
	if err != nil {
		t.Fatal(err)
	}
	find := func(r protocol.SearchRequest) []protocol.SearchChunk {
		r.Query, r.Filters.Paths = "walrus", []string{path}
		got, err := s.Search(t.Context(), s.brain, r)
		if err != nil {
			t.Fatal(err)
		}
		return got.Chunks
	}
	chunks := find(protocol.SearchRequest{})
	if len(chunks) != 1 {
		t.Fatalf("%d hits", len(chunks))
	}
	// A date that cannot be read could be any day.
	badDate := len(find(protocol.SearchRequest{QuestionDate: "9999-12-31"})) == 0
	checkHit(t, record, chunks[0], badDate)
	var f protocol.SearchFilters
	if id, ok := record.Metadata["session_id"].(string); ok && id != "" {
		f.SessionIDs = []string{id}
	}
	if tags, ok := record.Metadata["tags"].(string); ok {
		f.Tags = strings.Split(tags, ",")
	}
	if day, ok := record.Metadata["date"].(string); ok && len(day) == len(time.DateOnly) && day != "2024-02-30" {
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			f.DateFrom, f.DateTo = day, day
		}
	}
	if len(find(protocol.SearchRequest{Filters: f})) != 1 {
		t.Fatalf("filters %+v do not find the document of record %+v", f, record)
	}
}

// checkHit compares a record and a hit as JSON.
func checkHit(t *rapid.T, r protocol.DocumentRecord, hit protocol.SearchChunk, badDate bool) {
	if hit.Title != r.Title {
		t.Fatalf("title %q of the record, %q of the hit", r.Title, hit.Title)
	}
	of, ofHit := wire(t, r.Metadata), wire(t, hit.Metadata)
	// A record has fields for two keys that a hit has in its metadata.
	if source := ofHit["source"]; slices.Contains([]string{`"ingest"`, `"extract"`, `"compile"`, `"reflect"`}, source) {
		of["source"] = fmt.Sprintf("%q", r.Source)
	}
	if date := of["date"]; date == "" || date == "null" || strings.TrimSpace(strings.Trim(date, `"`)) == "" || strings.HasPrefix(date, `"0001-`) {
		if r.CreatedAt != r.UpdatedAt && !badDate {
			of["date"] = ofHit["date"]
			if at := instant(t, ofHit["date"]); protocol.FormatTime(at) != r.CreatedAt {
				t.Fatalf("created at %s: the hit's date is %v", r.CreatedAt, ofHit["date"])
			}
		}
	}
	if !maps.Equal(of, ofHit) {
		t.Fatalf("the record has %v, the hit %v", of, ofHit)
	}
}

func instant(t *rapid.T, date string) time.Time {
	date = strings.Trim(date, `"`)
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		at, err = time.Parse(time.DateOnly, date)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func wire(t *rapid.T, metadata map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range metadata {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = string(data)
	}
	return out
}
