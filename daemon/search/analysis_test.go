package search

import (
	"runtime"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// Putting many documents at once, analysed by several goroutines that find the same new words,
// results in the same index as putting them one by one.
func TestPutMany(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // also on one processor
	docs := newCorpus().documents(3 * maxBatch / 2)
	docs = append(docs, document.Document{Path: docs[0].Path, Text: "replaced at once"}) // the later one is kept
	many, single := New(nil), New(nil)
	many.Put(docs...)
	for _, d := range docs {
		single.Put(d)
	}
	checkSequences(t, many)
	checkNeighbours(t, many)
	for _, query := range []string{docs[1].Text, docs[maxBatch].Text, "replaced"} {
		q := Query{Text: query, TopK: 50}
		if diff := gocmp.Diff(single.Search(q), many.Search(q)); diff != "" {
			t.Errorf("%.30q differs (-single +many):\n%s", query, diff)
		}
	}
	if many.Len() != len(docs)-1 || many.Chunks() != single.Chunks() {
		t.Errorf("%d documents in %d chunks, want %d in %d", many.Len(), many.Chunks(), len(docs)-1, single.Chunks())
	}
}

// The parts of a name count once in each field, whatever the passage is, and everything else counts
// as often as it is there.
func TestRepeatedNames(t *testing.T) {
	const marks = " { [] = () ; } "
	for _, c := range []struct {
		name, text string
		language   language.Language
		term       string
		want       tally
	}{
		{"code", "openGate openGate openGate" + marks, language.Code, "gate", tally{1}},
		{"the whole name", "openGate openGate openGate" + marks, language.Code, "openg", tally{3}},
		{"two names", "openGate closeGate openGate closeGate" + marks, language.Code, "gate", tally{2}},
		{"two spellings", "openGate OpenGate openGate" + marks, language.Code, "gate", tally{2}},
		{"a part twice in a name", "gateToGate gateToGate" + marks, language.Code, "gate", tally{2}},
		{"a word beside", "gate openGate gate openGate" + marks, language.Code, "gate", tally{3}},
		{"words of another style", "open_gate open_gate" + marks, language.Code, "gate", tally{2}},
		{"prose with code", "The openGate is not the openGate.", language.English, "gate", tally{1}},
		{"other prose", "The OpenGate is not the OpenGate.", language.English, partMark + "gate", tally{1}},
		{"other prose, as a word", "The OpenGate is not the OpenGate.", language.English, "gate", tally{}},
		{"title and text", "# The openGate of openGate\n\nThe openGate is not the openGate.", language.English, "gate", tally{textField: 1, titleField: 1}},
		{"pairs of letters", "東京と東京", language.Parse("ja"), "東京", tally{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := New(nil)
			doc, _ := document.Parse("a.md", c.text)
			doc.Language = c.language
			ix.Put(doc)
			var posted, counted tally // from the postings, and from the sequence of the passage
			if n := ix.numbers[c.term]; ix.has(c.term) {
				posted, counted = ix.tallies.list[ix.postings[n].tallies[0]], ix.chunks[0].count(n)
			}
			if posted != c.want || counted != c.want {
				t.Errorf("%s counts as %v in the postings and as %v in the passage, want %v", c.term, posted, counted, c.want)
			}
		})
	}
}
