package sample

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/result"
	"evalctl/internal/sharedtest"
)

// realItems are the questions of LongMemEval.
func realItems(t *testing.T) []Item {
	t.Helper()
	var questions []struct {
		ID   string `json:"question_id"`
		Type string `json:"question_type"`
	}
	if err := json.Unmarshal(sharedtest.Read(t, "longmemeval/strata_500.json"), &questions); err != nil {
		t.Fatal(err)
	}
	var items []Item
	for _, q := range questions {
		items = append(items, Item{q.ID, q.Type})
	}
	return items
}

// someItems returns 40 items in four strata: 12, 11, 11 and 6.
func someItems() []Item {
	var items []Item
	for i := range 40 {
		items = append(items, Item{fmt.Sprintf("q%02d", i), []string{"single", "multi", "temporal", "écart"}[(i*i+i/7)%4]})
	}
	return items
}

// The samples must never change, because results of different dates are compared by them. The ids
// and signatures were computed by another program, from the documentation of Draw.
func TestDrawIsGolden(t *testing.T) {
	for _, c := range []struct {
		size      int
		seed      uint64
		ids       string
		signature string
	}{
		{8, 42, "q05 q14 q19 q23 q28 q34 q35 q38", "3f41bc0f4a427e2ec58ad7a8467385c8a66ebe873578b95af2934143157137f6"},
		{8, 43, "q00 q04 q06 q08 q09 q10 q19 q20", "5361f4e33498c0401b5eabd1f3a109ee87f7a6fc9ecbb8aaf3e48fcbb51ccf4b"},
		{
			12, 1<<64 - 1, "q00 q06 q07 q08 q09 q10 q15 q20 q25 q26 q29 q34",
			"5c1bc9031e9092eadcc5678cd842b760f775f5c15e4649517cc04af80b4fcb01",
		},
	} {
		s, ids, err := Draw(someItems(), Config{Size: c.size, Seed: c.seed})
		if err != nil || strings.Join(ids, " ") != c.ids || s.Signature != c.signature {
			t.Errorf("seed %d: %v, %s, %v, want %s, %s", c.seed, ids, s.Signature, err, c.ids, c.signature)
		}
	}
}

func TestDrawIsGoldenForRealStrata(t *testing.T) {
	items := realItems(t)
	for size, want := range map[int]string{
		5:   "4c23bae5f9467fa03f237b0f9893a9ed41578c6a0225b9100d620e1f11910a3e",
		50:  "4b8b910d636ed14d82201e32e17f257951cf2a012874683cec94e11cfd986023",
		100: "097e6d75ba657376157ecb469322f4ff865f2d4d46c21189ddb66b1395fff05f",
		0:   "411054870b7f6540bcd3c8a519269cebf533b3502575c3f3e19410da376435a3",
	} {
		s, _, err := Draw(items, Config{Size: size, Seed: 42})
		if err != nil || s.Signature != want {
			t.Errorf("size %d: %s, %v, want %s", size, s.Signature, err, want)
		}
	}
}

func TestDrawResult(t *testing.T) {
	s, ids, err := Draw(someItems(), Config{Size: 7, Seed: 9, MinPerStratum: 1, Exclude: []string{"q00", "q03", "q00"}})
	if err != nil {
		t.Fatal(err)
	}
	want := result.Sample{
		Size: 7, Population: 38, Seed: 9, MinPerStratum: 1, Excluded: 2, Signature: s.Signature,
		Strata: []result.StratumDraw{
			{Name: "multi", Population: 10, Sampled: 2}, {Name: "single", Population: 11, Sampled: 2},
			{Name: "temporal", Population: 11, Sampled: 2}, {Name: "écart", Population: 6, Sampled: 1},
		},
	}
	if !reflect.DeepEqual(s, want) || len(ids) != 7 || slices.Contains(ids, "q00") || slices.Contains(ids, "q03") {
		t.Errorf("%+v, %v, want %+v", s, ids, want)
	}
	listed := []string{"q09", "q01", "q30"}
	s, ids, err = Draw(someItems(), Config{IDs: listed, Exclude: []string{"q00"}})
	if err != nil || !slices.Equal(ids, []string{"q01", "q09", "q30"}) || !s.Listed || s.Size != 3 || s.Population != 39 || s.Excluded != 1 {
		t.Errorf("a list: %+v, %v, %v", s, ids, err)
	}
	all, ids, err := Draw(someItems(), Config{Seed: 1})
	if more, _, err := Draw(someItems(), Config{Size: 41, Seed: 1}); err != nil || !reflect.DeepEqual(more, all) {
		t.Errorf("a larger size than the population: %+v, %v, want %+v", more, err, all)
	}
	if err != nil || len(ids) != 40 || all.Size != 40 || all.Listed {
		t.Errorf("all: %+v, %v, %v", all, ids, err)
	}
}

func TestDrawRefuses(t *testing.T) {
	many := make([]string, 12)
	for i := range many {
		many[i] = fmt.Sprintf("x%02d", i)
	}
	var everything []string
	for _, item := range someItems() {
		everything = append(everything, item.ID)
	}
	for _, c := range []struct {
		name  string
		items []Item
		c     Config
		want  string
	}{
		{"negative size", someItems(), Config{Size: -1}, "the sample size is -1"},
		{"minima", someItems(), Config{Size: 3, MinPerStratum: 1}, "use a size of at least 4"},
		{"negative minimum", someItems(), Config{MinPerStratum: -1}, "the minimum per stratum is -1"},
		{"repeated items", append(someItems(), Item{"q07", "single"}), Config{}, `must be unique (1): "q07"`},
		{"no items", nil, Config{}, "no question is left: 0 of 0 questions of the benchmark are excluded"},
		{"all excluded", someItems(), Config{Exclude: everything}, "no question is left: 40 of 40 questions of the benchmark are excluded"},
		{"unknown exclusion", someItems(), Config{Exclude: []string{"q01", "y", "y"}}, `ids to exclude are not in the benchmark (1): "y"`},
		{
			"unknown list", someItems(), Config{IDs: append(many, "q01", "x\x1b")},
			`ids to draw are not in the benchmark (13): "x00", "x01", "x02", "x03", "x04", "x05", "x06", "x07", "x08", "x09" and 3 more`,
		},
		{"escaped", someItems(), Config{IDs: []string{"x\x1b"}}, `(1): "x\x1b"`},
		{
			"several problems", someItems(), Config{IDs: []string{"q01", "z", "q02", "q01", "q01"}, Exclude: []string{"q02"}},
			`ids to draw are not in the benchmark (1): "z"; are repeated (1): "q01"; are excluded, too (1): "q02"`,
		},
		{"long id", someItems(), Config{IDs: []string{strings.Repeat("ü", 1e6)}}, `(1): "` + strings.Repeat("ü", 100) + `"`},
		{"list and size", someItems(), Config{IDs: []string{"q01"}, Size: 1}, "omit its size"},
		{"list and minimum", someItems(), Config{IDs: []string{"q01"}, MinPerStratum: 1}, "omit its size"},
		{"empty list", someItems(), Config{IDs: []string{}}, "the list of ids to draw is empty"},
	} {
		s, ids, err := Draw(c.items, c.c)
		if err == nil || ids != nil || !strings.Contains(err.Error(), c.want) || !reflect.DeepEqual(s, result.Sample{}) {
			t.Errorf("%s: %v, %v, want %q", c.name, ids, err, c.want)
		}
	}
}

// Every size of the real strata is filled exactly, and is part of each larger size wherever no
// stratum has fewer questions in the larger one.
func TestDrawEveryRealSize(t *testing.T) {
	items := realItems(t)
	type sampled struct {
		ids    map[string]bool
		strata map[string]int
	}
	samples := []sampled{{}}
	for n := 1; n <= len(items); n++ {
		s, ids, err := Draw(items, Config{Size: n, Seed: 7})
		if err != nil || len(ids) != n || s.Size != n {
			t.Fatalf("size %d: %d, %v", n, len(ids), err)
		}
		parts, err := allocate(longMemEval, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range s.Strata {
			if d.Sampled != parts[d.Name] || d.Population != longMemEval[d.Name] {
				t.Fatalf("size %d: %+v, want %d", n, d, parts[d.Name])
			}
		}
		samples = append(samples, sampled{set(ids), parts})
	}
	for _, pair := range [][2]int{{5, 50}, {50, 100}, {100, 500}} {
		if !within(samples[pair[0]].ids, samples[pair[1]].ids) {
			t.Errorf("the sample of %d is not part of that of %d", pair[0], pair[1])
		}
	}
	for n := 1; n < len(items); n++ {
		shrinks := false
		for name := range longMemEval {
			shrinks = shrinks || samples[n].strata[name] > samples[n+1].strata[name]
		}
		if nested := within(samples[n].ids, samples[n+1].ids); nested == shrinks {
			t.Errorf("sizes %d and %d: nested %v, a stratum shrinks %v", n, n+1, nested, shrinks)
		}
	}
}

func within(small, large map[string]bool) bool {
	for id := range small {
		if !large[id] {
			return false
		}
	}
	return true
}

func TestDrawProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.String(), 1, 60, rapid.ID).Draw(t, "ids")
		items := make([]Item, len(ids))
		for i, id := range ids {
			items[i] = Item{id, rapid.SampledFrom([]string{"", "a", "b", "ab", "c"}).Draw(t, "stratum")}
		}
		c := Config{
			Size: rapid.IntRange(1, len(items)).Draw(t, "size"), Seed: rapid.Uint64().Draw(t, "seed"),
			Exclude: ids[:rapid.IntRange(0, len(ids)-1).Draw(t, "excluded")],
		}
		c.Size = min(c.Size, len(ids)-len(c.Exclude))
		s, drawn, err := Draw(items, c)
		if err != nil || len(drawn) != c.Size || len(set(drawn)) != c.Size || s.Population+s.Excluded != len(items) {
			t.Fatalf("%+v, %v, %v", s, drawn, err)
		}
		at := -1
		for _, id := range drawn {
			i := slices.Index(ids, id)
			if i <= at || i < len(c.Exclude) {
				t.Fatalf("%q is not in order or excluded: %v", id, drawn)
			}
			at = i
		}
		shuffled := rapid.Permutation(items).Draw(t, "shuffled")
		other, again, err := Draw(shuffled, c)
		if err != nil || !reflect.DeepEqual(s, other) {
			t.Fatalf("another order of items: %+v, %v, want %+v", other, err, s)
		}
		slices.Sort(drawn)
		slices.Sort(again)
		if !slices.Equal(drawn, again) {
			t.Fatalf("another order of items: %q, want %q", again, drawn)
		}
		listed, _, err := Draw(items, Config{IDs: drawn})
		if err != nil || listed.Signature != s.Signature {
			t.Fatalf("the list of the same ids: %+v, %v, want %s", listed, err, s.Signature)
		}
	})
}

func TestSignatureSeparatesIDsAndStrata(t *testing.T) {
	seen := map[string]string{}
	for _, items := range [][]Item{
		{{"a", "bc"}}, {{"ab", "c"}}, {{"a", "b"}, {"c", ""}}, {{"a", "b"}}, {{"a", ""}, {"b", ""}}, {{"ab", ""}},
	} {
		s, _, err := Draw(items, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[s.Signature]; ok {
			t.Errorf("%v and %s have the same signature", items, other)
		}
		seen[s.Signature] = fmt.Sprint(items)
	}
}
