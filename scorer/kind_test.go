package scorer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

func ExampleFind() {
	kind, err := scorer.Find("exact")
	if err != nil {
		fmt.Println(err)
		return
	}
	sc := kind.Offline(scorer.Options{TopK: 5})
	fmt.Println(sc.Name(), "needs", kind.Needs)
	fmt.Println(sc.Check(scorer.Item{ID: "kettle", Expected: []string{"green"}}))
	// Output:
	// exact needs expected_substrings
	// <nil>
}

// open returns the scorer of a kind, with the offline model if it needs one.
func open(t *testing.T, k scorer.Kind) scorer.Scorer {
	t.Helper()
	if k.Offline == nil && k.Prompts == nil {
		t.Fatalf("%s must have a constructor", k.Name)
	}
	if k.Offline != nil && k.Name != (scorer.Order{}).Name() {
		return k.Offline(scorer.Options{TopK: 5})
	}
	j, err := scorer.NewJudge(llm.NewFake(), llm.FakeModel, k.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	return k.With(scorer.Options{}, j)
}

// Each scorer accepts a question that has what it needs and nothing else, scores its answer, and
// names what a question lacks.
func TestKinds(t *testing.T) {
	has := map[scorer.Need]scorer.Item{
		scorer.NeedExpected:  {ID: "q", Expected: []string{"green"}, Answer: "It is green."},
		scorer.NeedReference: {ID: "q", Reference: "green", Answer: "It is green."},
		scorer.NeedChecks:    {ID: "q", Checks: []scorer.Check{{Contains: "green"}}, Answer: "It is green."},
		scorer.NeedGold:      {ID: "q", Gold: scorer.Ranking{{Path: "a.md", Gain: 1, Rank: 1}}},
	}
	var names []string
	for _, k := range scorer.Kinds() {
		names = append(names, k.Name)
		sc := open(t, k)
		has := maps.Clone(has)
		if k.Name == (scorer.Order{}).Name() {
			has[scorer.NeedChecks] = scorer.Item{ID: "q", Checks: orderOf("green", "red"), Answer: "It was green.\nIt was red."}
		}
		if found, err := scorer.Find(k.Name); err != nil || found.Name != k.Name || sc.Name() != k.Name {
			t.Errorf("%s: found %s, %v, is %s", k.Name, found.Name, err, sc.Name())
		}
		if !strings.Contains(k.Help, string(k.Needs)) {
			t.Errorf("%s: the help %q does not name %s", k.Name, k.Help, k.Needs)
		}
		for need, item := range has {
			err := sc.Check(item)
			if (err == nil) != (need == k.Needs) || err != nil && !strings.Contains(err.Error(), string(k.Needs)) {
				t.Errorf("%s, question with %s: %v", k.Name, need, err)
			}
		}
		item := has[k.Needs]
		if _, overlap := sc.(scorer.Overlap); overlap {
			item.Answer = item.Reference // which has no word besides
		}
		if v, err := sc.Score(t.Context(), item); err != nil || !v.Scored || v.Score != 1 {
			t.Errorf("%s: %+v, %v", k.Name, v, err)
		}
	}
	if _, err := scorer.Find("vibes"); err == nil || !strings.HasSuffix(err.Error(), "one of "+strings.Join(names, ", ")) {
		t.Error(err)
	}
}

// The schema of results lists the same scorers.
func TestKindsOfTheSchema(t *testing.T) {
	data := filetest.Read(t, "../docs/result.schema.json")
	var schema struct {
		Defs struct{ Scorer struct{ Enum []string } } `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range scorer.Kinds() {
		names = append(names, k.Name)
	}
	names = append(names, scorer.External, scorer.Imported) // which the table does not have
	slices.Sort(names)
	if !slices.Equal(schema.Defs.Scorer.Enum, names) || !slices.IsSorted(names) {
		t.Errorf("docs/result.schema.json lists %v, the package %v", schema.Defs.Scorer.Enum, names)
	}
}
