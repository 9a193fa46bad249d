package search

import (
	"slices"
	"testing"
	"time"

	"evalctl/daemon/search/document"
)

// What somebody types who sees a document finds it, also if no word of it is in the index.
func TestInstead(t *testing.T) {
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	ix := New(nil)
	ix.Put(
		document.Document{Path: "band.md", Title: "The They", Text: "The They played on the pier."},
		document.Document{Path: "saying.md", Title: "Saying", Text: "Runa's saying about rain: it is what it was."},
		document.Document{Path: "it.md", Title: "It", Text: "It is the title of a thick book on the shelf."},
		document.Document{Path: "boat.md", Title: "Boat", Text: "We painted the boat in the harbour green.", Date: day},
		document.Document{Path: "race.md", Title: "Race", Text: "The race was cold.", Date: day.AddDate(0, 1, 0)},
		document.Document{Path: "signs.md", Title: "Signs", Text: "Write a -> b and :-) at the end, for 5 $."},
		document.Document{Path: "tide.md", Title: "Tide", Text: "The TideService failed. Room 2023."},
	)
	asOf := time.Date(2024, 5, 9, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		query   string
		want    []string
		nearest map[string][]string
	}{
		{"The They", []string{"band.md"}, nil},
		{"it is what it was", []string{"saying.md"}, nil},
		{"it", []string{"it.md", "saying.md"}, nil},
		{"->", []string{"signs.md"}, nil},
		{":-)", []string{"signs.md"}, nil},
		{"$", []string{"signs.md"}, nil},
		{"habrour", []string{"boat.md"}, map[string][]string{"habrour": {"harbour"}}},
		{"harbor", []string{"boat.md"}, map[string][]string{"harbor": {"harbour"}}},
		{"harbbour", []string{"boat.md"}, map[string][]string{"harbbour": {"harbour"}}},
		{"harboor", []string{"boat.md"}, map[string][]string{"harboor": {"harbour"}}},
		{"boathouse", []string{"boat.md"}, map[string][]string{"boathous": {"boat"}}},
		{"the tides", []string{"tide.md"}, nil},
		{"failure service", []string{"tide.md"}, nil}, // a part of a name
		{"a service for boats", []string{"boat.md", "tide.md"}, nil},
		{"failure", []string{"tide.md"}, map[string][]string{"failur": {"fail"}}},
		{"harbxxr", nil, nil},
		{"Which insurance covers habrour accidents?", nil, nil}, // about something else
		{"2024", nil, nil}, // a number is not mistyped
		{"What happened yesterday?", []string{"boat.md"}, nil},
		{"on 8 May 2024", []string{"boat.md"}, nil},
		{"What did we do last month?", []string{"boat.md"}, nil},
	} {
		res := search(t, NewSearcher(ix, Config{}), Query{Text: c.query, AsOf: asOf})
		if got := paths(res); !slices.Equal(got, c.want) {
			t.Errorf("%q finds %v, want %v", c.query, got, c.want)
		}
		for _, h := range res.Hits {
			if len(h.Nearest) != len(c.nearest) {
				t.Errorf("%q: the nearest words are %v, want %v", c.query, h.Nearest, c.nearest)
			}
			for typed, want := range c.nearest {
				if !slices.Equal(h.Nearest[typed], want) {
					t.Errorf("%q: the nearest of %s are %v, want %v", c.query, typed, h.Nearest[typed], want)
				}
			}
		}
	}
}

// What is dated in the period of a question comes first, also before what has a word of it and a
// path that sorts before.
func TestInsteadDatedFirst(t *testing.T) {
	may := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	ix := New(nil)
	ix.Put(
		document.Document{Path: "a.md", Title: "Roses", Text: "They are best in May or later."},
		document.Document{Path: "boat.md", Title: "Boat", Text: "We painted the boat green.", Date: may},
		document.Document{Path: "plan.md", Title: "Plan", Text: "June is near."},
		document.Document{Path: "race.md", Title: "Race", Text: "The race was cold.", Date: may.AddDate(0, 1, 7)},
	)
	asOf := time.Date(2024, 11, 9, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string][]string{
		"What did I do in May?":  {"boat.md", "a.md"},
		"What did I do in June?": {"race.md", "plan.md"},
		"in May":                 {"boat.md", "a.md"},
	} {
		res := search(t, NewSearcher(ix, Config{}), Query{Text: query, Mode: ModeBM25, AsOf: asOf})
		if got := paths(res); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// A time that a question excludes is not preferred, whether the question has other words or not.
func TestInsteadOfExcludedTime(t *testing.T) {
	ix := New(nil)
	for folder, of := range map[string]struct {
		year int
		was  string
	}{"a": {2022, "wet"}, "b": {2021, "cold"}, "c": {2023, "long"}} {
		day := time.Date(of.year, 3, 5, 0, 0, 0, 0, time.UTC)
		ix.Put(
			document.Document{Path: folder + "/boat.md", Title: "Boat", Text: "We painted a boat, which was " + of.was, Date: day},
			document.Document{Path: folder + "/race.md", Title: "Race", Text: "The race was " + of.was, Date: day},
		)
	}
	asOf := time.Date(2024, 11, 9, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string][]string{
		"What happened before 2022?":  {"b/boat.md", "b/race.md"},
		"What happened after 2022?":   {"c/boat.md", "c/race.md"},
		"Which race was before 2022?": {"b/race.md", "a/race.md", "c/race.md"},
		"Which race was since 2023?":  {"c/race.md", "a/race.md", "b/race.md"},
	} {
		res := search(t, NewSearcher(ix, Config{}), Query{Text: query, Mode: ModeBM25, AsOf: asOf})
		if got := paths(res); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}
