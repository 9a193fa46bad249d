package sample

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/sharedtest"
)

// longMemEval are the sizes of the strata of LongMemEval.
var longMemEval = map[string]int{
	"single-session-user": 70, "single-session-assistant": 56, "single-session-preference": 30,
	"multi-session": 133, "temporal-reasoning": 133, "knowledge-update": 78,
}

func TestAllocate(t *testing.T) {
	parts := func(user, assistant, preference, multi, temporal, update int) map[string]int {
		return map[string]int{
			"single-session-user": user, "single-session-assistant": assistant, "single-session-preference": preference,
			"multi-session": multi, "temporal-reasoning": temporal, "knowledge-update": update,
		}
	}
	for _, c := range []struct {
		name     string
		sizes    map[string]int
		n, least int
		want     map[string]int
	}{
		{"5", longMemEval, 5, 0, parts(1, 1, 0, 1, 1, 1)},
		{"50", longMemEval, 50, 0, parts(7, 6, 3, 13, 13, 8)},
		{"100", longMemEval, 100, 0, parts(14, 11, 6, 27, 27, 15)},
		{"none", longMemEval, 0, 0, parts(0, 0, 0, 0, 0, 0)},
		{"one each", longMemEval, 6, 1, parts(1, 1, 1, 1, 1, 1)},
		{"one more than one each", longMemEval, 7, 1, parts(1, 1, 1, 2, 1, 1)},
		{"the minimum changes nothing", longMemEval, 50, 3, parts(7, 6, 3, 13, 13, 8)},
		{"the minimum lifts one", longMemEval, 50, 5, parts(7, 5, 5, 13, 13, 7)},
		{"the minimum lifts one after another", map[string]int{"a": 100, "b": 20, "c": 2}, 10, 2, map[string]int{"a": 6, "b": 2, "c": 2}},
		{"a smaller stratum as a whole", map[string]int{"a": 100, "b": 2}, 10, 5, map[string]int{"a": 8, "b": 2}},
		{"the minimum exceeds every stratum", map[string]int{"a": 3, "b": 2}, 5, 99, map[string]int{"a": 3, "b": 2}},
		{"tie: larger stratum", map[string]int{"a": 1, "b": 3}, 2, 0, map[string]int{"a": 0, "b": 2}},
		{"tie: name", map[string]int{"b": 5, "a": 5, "c": 5}, 2, 0, map[string]int{"a": 1, "b": 1, "c": 0}},
		{"an empty stratum", map[string]int{"a": 5, "b": 0}, 3, 1, map[string]int{"a": 3, "b": 0}},
		{"nothing", map[string]int{}, 0, 1, map[string]int{}},
	} {
		got, err := allocate(c.sizes, c.n, c.least)
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestAllocateVectors(t *testing.T) {
	var groups struct {
		Rows []struct {
			N     int            `json:"n"`
			Alloc map[string]int `json:"alloc"`
		} `json:"stratified_largest_remainder_longmemeval"`
	}
	if err := json.Unmarshal(sharedtest.Read(t, "stats_vectors.json"), &groups); err != nil || len(groups.Rows) == 0 {
		t.Fatalf("%d rows, %v", len(groups.Rows), err)
	}
	for _, v := range groups.Rows {
		if got, err := allocate(longMemEval, v.N, 0); err != nil || !maps.Equal(got, v.Alloc) {
			t.Errorf("%d: %v, %v, want %v", v.N, got, err, v.Alloc)
		}
	}
}

func TestAllocateRefuses(t *testing.T) {
	for _, c := range []struct {
		sizes    map[string]int
		n, least int
		want     string
	}{
		{longMemEval, 501, 0, "501 exceeds the 500 questions"},
		{longMemEval, 5, 1, "at least 1 of each of 6 strata (all of a smaller one): use a size of at least 6"},
		{map[string]int{"a": 100, "b": 2}, 6, 5, "use a size of at least 7"},
		{longMemEval, -1, 0, "the sample size is -1"},
		{longMemEval, 5, -1, "the minimum per stratum is -1"},
		{map[string]int{"a\x1b[2J": -1}, 0, 0, `stratum "a\x1b[2J" has the negative size -1`},
	} {
		got, err := allocate(c.sizes, c.n, c.least)
		if err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %d, %d: %v, %v, want %q", c.sizes, c.n, c.least, got, err, c.want)
		}
	}
}

func TestAllocateEverySize(t *testing.T) {
	for n := range 501 {
		checkParts(t, longMemEval, n, 0)
		for least := 1; least <= 80; least += 13 {
			checkParts(t, longMemEval, n, least)
		}
	}
}

func TestAllocateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.MapOf(rapid.StringN(0, 3, -1), rapid.IntRange(0, 200)).Draw(t, "sizes")
		total := 0
		for _, size := range sizes {
			total += size
		}
		n := rapid.IntRange(0, total).Draw(t, "n")
		checkParts(t, sizes, n, rapid.IntRange(0, 30).Draw(t, "least"))
	})
}

// checkParts checks that allocate returns parts of n that are fair, or an error if there are none.
func checkParts(t rapid.TB, sizes map[string]int, n, least int) {
	t.Helper()
	total, minima := 0, 0
	for _, size := range sizes {
		total += size
		minima += min(size, least)
	}
	parts, err := allocate(sizes, n, least)
	if (err != nil) != (n < minima) {
		t.Fatalf("n = %d, least = %d: %v, minima %d", n, least, err, minima)
	}
	if err != nil {
		return
	}
	sum := 0
	for name, size := range sizes {
		part, ok := parts[name]
		if !ok || part > size || part < min(size, least) {
			t.Fatalf("n = %d, least = %d: %q gets %d of %d", n, least, name, part, size)
		}
		// Not above the quota rounded up, and not below it rounded down, except for the minima.
		up, down := n*size+total-1 >= part*total, n*size < (part+1)*total
		if part != min(size, least) && !up || least == 0 && total > 0 && !down {
			t.Fatalf("n = %d, least = %d: %q gets %d, its quota is %d/%d", n, least, name, part, n*size, total)
		}
		for other := range sizes {
			if sizes[other] > size && parts[other] < part {
				t.Fatalf("n = %d, least = %d: %q gets %d of %d, %q %d of %d", n, least, name, part, size, other, parts[other], sizes[other])
			}
		}
		sum += part
	}
	if sum != n || len(parts) != len(sizes) {
		t.Fatalf("n = %d, least = %d: %d in %d strata", n, least, sum, len(parts))
	}
}
