package datasets_test

import (
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

const lifecycle = "lifecycle.jsonl"

// families are the types of its questions, with the beginning of their ids.
var families = map[string]string{
	"freshness": "fresh", "deletion": "del", "isolation": "iso", "durability": "dur",
	"provenance": "prov", "abstention": "abst", "crossing": "cross", "derived": "derived",
}

// TestLifecycle checks that the families are distinct: what one is about, no other contains, so
// that a fault of one kind fails one family. Two families are about how operations meet.
func TestLifecycle(t *testing.T) {
	d, err := dataset.Open(lifecycle, dataset.Options{
		Naming: dataset.BrainNaming{Default: "eval"},
		Check:  func(q dataset.Question) error { return scorer.Exact{}.Check(q.Item()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Brains(nil); err != nil {
		t.Fatal(err)
	}
	for family := range families {
		if d.Tags[family] < 25 {
			t.Errorf("%s has %d questions", family, d.Tags[family])
		}
	}
	used := map[dataset.Op]int{}
	texts, words := map[string]string{}, map[string]string{}
	var phrases []string
	for q, err := range d.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		crosses := q.Tags[0] == "crossing" || q.Tags[0] == "derived"
		if crosses != (len(q.Tags) == 2 && strings.HasPrefix(q.Tags[1], "cross:") && len(q.Forbidden) > 0) || len(q.Tags) > 2 || !strings.HasPrefix(q.ID, families[q.Tags[0]]+"-") || q.ReferenceAnswer == "" || len(q.Before) == 0 {
			t.Errorf("%s: tags %q, reference %q, %d operations", q.ID, q.Tags, q.ReferenceAnswer, len(q.Before))
			continue
		}
		family := q.Tags[0]
		if other := texts[q.Question]; other != "" {
			t.Errorf("%s asks what %s does", q.ID, other)
		}
		texts[q.Question] = q.ID
		has := map[dataset.Op]bool{}
		for _, o := range q.Before {
			used[o.Op]++
			has[o.Op] = true
			word, _, _ := strings.Cut(o.In(q.Brain), "-")
			if of := words[word]; of != "" && of != family && (family == "isolation" || of == "isolation") {
				t.Errorf("%s: brains that begin with %s are those of %s too", q.ID, word, of)
			}
			words[word] = family
			if o.Date != "" && family != "freshness" || o.Brain != "" && family != "isolation" {
				t.Errorf("%s: %s belongs to another family", q.ID, o)
			}
			for _, want := range q.ExpectedSubstrings {
				if family == "abstention" && strings.Contains(visible.Folded(o.Text), visible.Folded(want)) {
					t.Errorf("%s: %s contains %q", q.ID, o, want)
				}
			}
		}
		for _, want := range q.ExpectedSubstrings {
			if strings.Contains(visible.Folded(q.Question), visible.Folded(want)) {
				t.Errorf("%s: the question contains %q", q.ID, want)
			}
		}
		if crosses {
			continue
		}
		if has[dataset.OpDelete] != (family == "deletion") || has[dataset.OpRestart] != (family == "durability") ||
			(len(q.MustCite) > 0) != (family == "provenance") {
			t.Errorf("%s: another family deletes, restarts or asks for sources", q.ID)
		}
		if family == "abstention" {
			if phrases == nil {
				phrases = q.ExpectedSubstrings
			}
			if !slices.Equal(phrases, q.ExpectedSubstrings) {
				t.Errorf("%s has other phrases", q.ID)
			}
		}
	}
	for _, op := range []dataset.Op{
		dataset.OpPut, dataset.OpAppend, dataset.OpDelete, dataset.OpRename, dataset.OpRemember, dataset.OpMessage,
		dataset.OpReflect, dataset.OpForget, dataset.OpConsolidate, dataset.OpRestart,
	} {
		if used[op] < 2 {
			t.Errorf("%s is used %d times", op, used[op])
		}
	}
}
