package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// mixed has five questions with tags.
const mixed = "\xef\xbb\xbf# a comment\r\n" +
	`{"id":"q-1","question":"Who came?","tags":["fact","conv:a"]}` + "\r\n\r\n" +
	`  {"id":"q-2","question":"When was that?","tags":["temporal","conv:a"]}` + "\n" +
	`{"id":"q-3","question":"Who left?","tags":["temporal","conv:b"]}` + "\n" +
	`{"id":"q-4","question":"Where is it?","tags":["conv:b"]}` + "\n" +
	`{"id":"q-5","question":"Why?","tags":["fact","temporal","conv:c"]}`

func openMixed(t *testing.T, o Options) (Dataset, error) {
	t.Helper()
	return Open(filetest.Write(t, filepath.Join(t.TempDir(), "d.jsonl"), mixed), o)
}

func idsOf(t testing.TB, d Dataset) (ids []string) {
	t.Helper()
	for q, err := range d.Passes() {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	return ids
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Selection
		ids  string
		want *result.Selection
	}{
		{"all", Selection{}, "q-1 q-2 q-3 q-4 q-5", nil},
		{"a limit that keeps all", Selection{Limit: 5}, "q-1 q-2 q-3 q-4 q-5", nil},
		{"a condition that all meet", Selection{Grep: regexp.MustCompile(`[?]$`)},
			"q-1 q-2 q-3 q-4 q-5", nil},
		{"limit", Selection{Limit: 2}, "q-1 q-2", &result.Selection{Limit: 2}},
		{"one of the tags", Selection{Tags: []string{"fact", "conv:b"}}, "q-1 q-3 q-4 q-5",
			&result.Selection{Tags: []string{"fact", "conv:b"}}},
		{"ids, in the order of the file", Selection{IDs: []string{"q-4", "q-1", "q-4"}, IDsOf: "f"},
			"q-1 q-4", &result.Selection{IDs: 2, IDsOf: "f"}},
		{"grep", Selection{Grep: regexp.MustCompile(`^Who `)}, "q-1 q-3",
			&result.Selection{Grep: "^Who "}},
		{"failed", Selection{Failed: []string{"q-5", "q-2"}, FailedOf: "r.json"}, "q-2 q-5",
			&result.Selection{FailedOf: "r.json"}},
		{"all conditions", Selection{Tags: []string{"temporal"}, IDs: []string{"q-2", "q-3", "q-4"},
			Grep: regexp.MustCompile("Who|When"), Failed: []string{"q-1", "q-3"}, FailedOf: "r.json"},
			"q-3", &result.Selection{Tags: []string{"temporal"}, IDs: 3, Grep: "Who|When",
				FailedOf: "r.json"}},
		{"shuffled", Selection{Shuffle: true, Seed: 7}, "q-4 q-2 q-1 q-5 q-3",
			&result.Selection{Seed: new(uint64(7))}},
		{"the limit is last", Selection{Shuffle: true, Seed: 7, Limit: 2, Tags: []string{"fact"}},
			"q-1 q-5", &result.Selection{Seed: new(uint64(7)), Limit: 2, Tags: []string{"fact"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := openMixed(t, Options{Selection: c.s})
			if err != nil {
				t.Fatal(err)
			}
			ids := idsOf(t, d)
			if got := strings.Join(ids, " "); got != c.ids || d.Selected != len(ids) || d.Total != 5 {
				t.Errorf("got %s, %d of %d, want %s", got, d.Selected, d.Total, c.ids)
			}
			if c.want != nil {
				c.want.SHA256, c.want.Total = result.IDsSHA256(slices.Values(ids)), 5
			}
			if diff := cmp.Diff(c.want, d.Selection); diff != "" {
				t.Error(diff)
			}
			tags := map[string]int{}
			for q, err := range d.Questions() {
				if err != nil {
					t.Fatal(err)
				}
				for _, tag := range q.Tags {
					tags[tag]++
				}
			}
			if diff := cmp.Diff(tags, d.Tags); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectionRejects(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"a tag", Options{Selection: Selection{Tags: []string{"temporl"}}}, []string{
			`tag "temporl": no question of `, `; did you mean "temporal"?; its tags are: ` +
				`conv:a, conv:b, conv:c, fact, temporal`}},
		{"ids", Options{Selection: Selection{IDs: []string{"q-33", "q-1", "zz"}}}, []string{
			`id "q-33": no question of `, `; did you mean "q-3"?`, `id "zz": no question of `}},
		{"failed ids", Options{Selection: Selection{Failed: []string{"x"}, FailedOf: "old.json"}},
			[]string{`id "x": no question of `, `; it did not pass in old.json, which is about other questions`}},
		{"nothing left", Options{Selection: Selection{Tags: []string{"fact"},
			Grep: regexp.MustCompile("Where")}}, []string{
			`no question is selected; the conditions are: tags fact, text matches "Where"`}},
		{"no cluster", Options{Cluster: "topic"}, []string{
			`d.jsonl:2: question "q-1" has 0 tags that begin with topic: and needs exactly 1, which names its cluster`,
			`d.jsonl:7:`}},
		{"repeats", Options{Repeats: -1}, []string{"repeats -1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openMixed(t, c.o)
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %s", err, w)
				}
			}
		})
	}
	if _, err := openMixed(t, Options{Cluster: "conv"}); err != nil {
		t.Error(err)
	}
}

// TestCheckOfSelection: questions that are not selected may lack what the check wants, but those
// beyond the limit may not.
func TestCheckOfSelection(t *testing.T) {
	var checked []string
	check := func(q Question) error { checked = append(checked, q.ID); return nil }
	_, err := openMixed(t, Options{Selection: Selection{Tags: []string{"temporal"}, Limit: 1}, Check: check})
	if err != nil || strings.Join(checked, " ") != "q-2 q-3 q-5" {
		t.Errorf("checked %s, %v", checked, err)
	}
}

func TestPasses(t *testing.T) {
	d, err := openMixed(t, Options{Selection: Selection{Limit: 2}, Repeats: 3})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for q, err := range d.Passes() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%d", q.ID, q.Repeat))
	}
	if s := strings.Join(got, " "); s != "q-1/1 q-2/1 q-1/2 q-2/2 q-1/3 q-2/3" || d.Planned() != 6 || d.Selected != 2 {
		t.Errorf("got %s, %d planned of %d", s, d.Planned(), d.Selected)
	}
	once, err := openMixed(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for q := range once.Passes() {
		if q.Repeat != 0 {
			t.Errorf("%s is repeat %d of 1", q.ID, q.Repeat)
		}
	}
}

// TestShuffleIsAPermutation: a shuffle has all questions, and its order depends only on their ids
// and on the seed, but not on the order of the file.
func TestShuffleIsAPermutation(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 1, 30, rapid.ID).Draw(rt, "ids")
		s := Selection{Shuffle: true, Seed: rapid.Uint64().Draw(rt, "seed")}
		order := func(ids []string) []string {
			var b strings.Builder
			for _, id := range ids {
				fmt.Fprintf(&b, `{"id":"%s","question":"%s"}`+"\n", id, strings.Repeat("x", len(id)*3))
			}
			d, err := Open(filetest.Write(t, filepath.Join(dir, "d.jsonl"), b.String()), Options{Selection: s})
			if err != nil {
				rt.Fatal(err)
			}
			return idsOf(t, d)
		}
		got := order(ids)
		if !cmp.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(ids))) {
			rt.Fatalf("%v shuffled is %v", ids, got)
		}
		if other := order(rapid.Permutation(ids).Draw(rt, "file")); !cmp.Equal(got, other) {
			rt.Fatalf("the order depends on the file: %v, %v", got, other)
		}
		s.Limit = rapid.IntRange(1, len(ids)).Draw(rt, "limit")
		if first := order(ids); !cmp.Equal(first, got[:s.Limit]) {
			rt.Fatalf("the first %d of %v are %v", s.Limit, got, first)
		}
	})
}

func TestFailed(t *testing.T) {
	write := func(records ...string) string {
		var n result.Counts
		for _, r := range records {
			var rec result.Record
			if err := json.Unmarshal([]byte(r), &rec); err != nil {
				t.Fatal(err)
			}
			n.Add(rec)
		}
		res := result.Result{
			Total: n.Total, Passed: n.Passed, Planned: n.Finished(), Counts: n,
			Gate: &result.Gate{Verdict: result.Fail, Total: n.Total, Passed: n.Passed},
		}
		res.Identity.SchemaVersion = result.SchemaVersion
		head, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		text := string(head[:len(head)-1]) + `,"questions":[` + strings.Join(records, ",") + "]}"
		return filetest.Write(t, filepath.Join(t.TempDir(), "r.json"), text)
	}
	got, err := Failed(write(`{"id":"a","outcome":"scored","score":1,"passed":true}`,
		`{"id":"b","outcome":"scored","score":0}`, `{"id":"c","outcome":"error"}`,
		`{"id":"d","outcome":"unscored"}`, `{"id":"e","outcome":"no_gold"}`))
	if err != nil || strings.Join(got, " ") != "b c d" {
		t.Errorf("got %v, %v", got, err)
	}
	path := write(`{"id":"a","outcome":"scored","score":1,"passed":true}`)
	if _, err := Failed(path); err == nil || !strings.Contains(err.Error(), "every question passed") {
		t.Errorf("nothing failed: %v", err)
	}
	if _, err := Failed(path + ".none"); err == nil {
		t.Error("a file that does not exist was read")
	}
}
