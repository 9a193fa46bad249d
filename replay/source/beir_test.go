package source

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// beirFolder writes a folder of BEIR and returns its path. A file without text is not written.
func beirFolder(t *testing.T, queries, corpus string, qrels map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "birds")
	files := map[string]string{"queries.jsonl": queries, "corpus.jsonl": corpus}
	for name, text := range qrels {
		files["qrels/"+name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		filetest.Write(t, path, text)
	}
	return dir
}

const (
	birdQueries = `{"_id": "1", "text": "Which owl is white?", "metadata": {}}
{"_id": "2", "text": "What do swifts eat?"}
{"_id": "3", "text": "Of another split"}
{"_id": "4", "text": "Nothing relevant"}
`
	birdCorpus = `{"_id": "d1", "title": "Snowy owl", "text": "A white owl.", "metadata": {"url": "x"}}
{"_id": "D1", "title": "", "text": "Another owl, nearly white."}
{"_id": "d3", "title": "Swift", "text": ""}
{"_id": "d4", "title": "", "text": " "}
`
	birdQrels = "query-id\tcorpus-id\tscore\n1\td1\t2\n1\tD1\t1\n1\td3\t0\n2\td3\t1\n2\td4\t3\n4\td1\t0\n"
)

// TestBEIR reads the grades of a folder, and what is not asked.
func TestBEIR(t *testing.T) {
	dir := beirFolder(t, birdQueries, birdCorpus, map[string]string{"test.tsv": birdQrels, "dev.tsv": "q\tc\ts\n3\td1\t1\n"})
	b := open(t, dir, Options{})
	if b.Format != dataset.BEIR || len(b.Questions) != 2 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	h := haystack(t, b, "birds")
	if len(h.Docs) != 3 || string(h.Docs[0].Data) != "# Snowy owl\n\nA white owl.\n" || h.Docs[0].Path == h.Docs[1].Path {
		t.Errorf("%+v", h.Docs)
	}
	q := b.Questions[0].Dataset()
	if !slices.Equal(q.ExpectedPaths, []string{h.Docs[0].Path, h.Docs[1].Path}) || !maps.Equal(q.ExpectedGrades, map[string]float64{h.Docs[0].Path: 2}) {
		t.Errorf("%+v", q)
	}
	if gold := q.Item().Gold; gold[0].Gain != 2 || gold[1].Gain != 1 {
		t.Errorf("%+v", gold)
	}
	traps := map[string]int{}
	for _, trap := range b.Report.Traps {
		traps[trap.Kind] = trap.Count
	}
	want := map[string]int{"query-without-qrels": 1, "query-without-relevant-document": 1, "empty-session": 1, "gold-not-in-haystack": 1}
	if !maps.Equal(traps, want) {
		t.Errorf("%v", traps)
	}
	if named := open(t, filepath.Join(dir, "queries.jsonl"), Options{}); named.SHA256 != b.SHA256 {
		t.Error("the folder and its queries have different digests")
	}
}

// TestBEIRConverted: what is converted has the same grades and documents.
func TestBEIRConverted(t *testing.T) {
	dir := beirFolder(t, birdQueries, birdCorpus, map[string]string{"test.tsv": birdQrels})
	out := filepath.Join(t.TempDir(), "birds.jsonl")
	if _, err := Convert(t.Context(), dir, out, Options{}); err != nil {
		t.Fatal(err)
	}
	first, again := open(t, dir, Options{}), open(t, out, Options{})
	for i, q := range again.Questions {
		was := first.Questions[i]
		if !slices.Equal(q.Gold, was.Gold) || !maps.Equal(q.Grades, was.Grades) || q.Text != was.Text {
			t.Errorf("%+v\nwas %+v", q, was)
		}
	}
	if n := len(haystack(t, again, first.Questions[0].Brain).Docs); n != 3 {
		t.Errorf("%d documents", n)
	}
}

// TestBEIRRefused has folders that lack something, and what is said of them.
func TestBEIRRefused(t *testing.T) {
	qrels := func(text string) map[string]string { return map[string]string{"test.tsv": text} }
	const header = "query-id\tcorpus-id\tscore\n"
	for _, c := range []struct {
		queries, corpus string
		qrels           map[string]string
		want            string
	}{
		{birdQueries, "", qrels(birdQrels), "a folder of BEIR has corpus.jsonl"},
		{"", birdCorpus, qrels(birdQrels), "without queries.jsonl"},
		{birdQueries, birdCorpus, nil, "must have qrels/test.tsv"},
		{birdQueries, birdCorpus, map[string]string{"dev.tsv": birdQrels, "train.tsv": birdQrels}, "and it has 2"},
		{birdQueries, birdCorpus, qrels("1\td1\t2\n"), "test.tsv:1: the first line is not a header"},
		{birdQueries, birdCorpus, qrels(header + "1\td1\thigh\n"), `test.tsv:2: the score "high"`},
		{birdQueries, birdCorpus, qrels(header + "1\td1\n"), "columns must be query-id, corpus-id and score"},
		{birdQueries, birdCorpus, qrels(header + "1\td1\t1\n1\td1\t2\n"), "test.tsv:3: the document \"d1\" is graded twice"},
		{birdQueries, birdCorpus, qrels(header + "9\td1\t1\n"), `the qrels name the query "9"`},
		{birdQueries, birdCorpus, qrels(header + "1\tnone\t1\n"), `no document that is relevant to the query "1"`},
		{birdQueries, birdCorpus + `{"_id": "d1", "text": "twice"}`, qrels(birdQrels), `corpus.jsonl:5: the document "d1" occurs twice`},
	} {
		_, err := Open(t.Context(), beirFolder(t, c.queries, c.corpus, c.qrels), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

// TestBEIRErrata corrects the gold by the ids of documents and by paths. A grade does not outlive
// its document.
func TestBEIRErrata(t *testing.T) {
	dir := beirFolder(t, birdQueries, birdCorpus, map[string]string{"test.tsv": birdQrels})
	docs := haystack(t, open(t, dir, Options{}), "birds").Docs
	for _, gold := range []string{"d3", docs[2].Path} {
		errata := writeFile(t, "e.jsonl", `{"id":"1","action":"correct","gold":["D1","`+gold+`"]}`)
		b := open(t, dir, Options{Errata: errata})
		if got := b.Questions[0].Gold; !slices.Equal(got, []string{docs[1].Path, docs[2].Path}) {
			t.Errorf("%s: the gold is %q", gold, got)
		}
		out := filepath.Join(t.TempDir(), "birds.jsonl")
		if _, err := Convert(t.Context(), dir, out, Options{Errata: errata}); err != nil {
			t.Fatal(err)
		}
		open(t, out, Options{})
	}
	errata := writeFile(t, "e.jsonl", `{"id":"1","action":"correct","gold":["d9"]}`)
	if _, err := Open(t.Context(), dir, Options{Errata: errata}); err == nil || !strings.Contains(err.Error(), `the gold "d9" is not in its haystack`) {
		t.Errorf("an unknown document: %v", err)
	}
}

// A query with the id of a document is asked, and counted: BEIR does not rank that document.
func TestBEIRIdentical(t *testing.T) {
	queries := `{"_id": "d1", "text": "A white owl."}` + "\n" + `{"_id": "2", "text": "What do swifts eat?"}` + "\n"
	qrels := map[string]string{"test.tsv": "query-id\tcorpus-id\tscore\nd1\tD1\t1\n2\td3\t1\n"}
	b := open(t, beirFolder(t, queries, birdCorpus, qrels), Options{})
	i := slices.IndexFunc(b.Report.Traps, func(trap result.Trap) bool { return trap.Kind == "query-with-id-of-document" })
	if len(b.Questions) != 2 || i < 0 || b.Report.Traps[i].Count != 1 {
		t.Errorf("%d questions, %+v", len(b.Questions), b.Report.Traps)
	}
}
