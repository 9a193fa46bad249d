package source_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/dataset"
	"evalctl/internal/sharedtest"
	"evalctl/replay/source"
)

// TestConvertBenchmarks converts real benchmarks, and compares what run would read from the output
// with what replay reads from the benchmark.
func TestConvertBenchmarks(t *testing.T) {
	if testing.Short() {
		t.Skip("it converts whole benchmarks")
	}
	for _, name := range []string{"locomo/locomo5.json", "longmemeval/lme_mini.json", "longmemeval/longmemeval_s_3.json"} {
		t.Run(name, func(t *testing.T) {
			file, out := sharedtest.Path(t, name), filepath.Join(t.TempDir(), "out.jsonl")
			if _, err := source.Convert(t.Context(), file, out, source.Options{}); err != nil {
				t.Fatal(err)
			}
			compareConverted(t, file, out)
		})
	}
}

func compareConverted(t *testing.T, file, converted string) {
	t.Helper()
	b, err := source.Open(t.Context(), file, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d, err := dataset.Open(converted,
		dataset.Options{Naming: dataset.BrainNaming{Default: "unused"}})
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := dataset.LoadCorpus(dataset.CorpusFor(converted))
	if err != nil {
		t.Fatal(err)
	}
	brains, err := d.Brains(&corpus)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for q, err := range d.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		ignored := cmpopts.IgnoreFields(dataset.Question{}, "Line", "Type", "JudgeType")
		if diff := cmp.Diff(b.Questions[i].Dataset(), q, ignored,
			cmpopts.IgnoreUnexported(dataset.Question{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		i++
	}
	if i != len(b.Questions) || len(brains) != len(b.Infos()) {
		t.Errorf("%d questions of %d, %d brains of %d", i, len(b.Questions), len(brains), len(b.Infos()))
	}
	for _, info := range b.Infos() {
		h, err := b.Haystack(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		compareDocuments(t, h, brains)
	}
}

// compareDocuments checks that the brain of a haystack has its documents, byte for byte.
func compareDocuments(t *testing.T, h source.Haystack, brains []dataset.Brain) {
	t.Helper()
	want := dataset.PathsOf(h.Documents())
	for _, b := range brains {
		if b.Name == h.Brain {
			if diff := cmp.Diff(want, dataset.PathsOf(b.Docs), cmp.AllowUnexported(dataset.Paths{})); diff != "" {
				t.Errorf("%s:\n%.2000s", h.Brain, diff)
			}
			return
		}
	}
	t.Errorf("there is no brain %s", h.Brain)
}
