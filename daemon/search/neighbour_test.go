package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/search/document"
	"evalctl/daemon/search/question"
)

// chat is an index of the turns of one conversation, in order.
func chat(turns ...string) *Index {
	ix := New(nil)
	for i, text := range turns {
		ix.Put(document.Document{
			Path: fmt.Sprintf("chat/%03d.txt", i), Text: text, Date: time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC),
		})
	}
	return ix
}

func TestReplies(t *testing.T) {
	long := strings.Repeat("other words that say nothing of it ", 12)
	for _, c := range []struct {
		name, question, reply string
		found                 bool // whether the reply is found, which has no word of the search
	}{
		{"a reply", "Where did you spend the holiday?", "In Lisbon.", true},
		{"a question before a statement", "Where did you spend the holiday? I stayed at home.", "In Lisbon.", true},
		{"in quotes", `He said "holiday?"`, "In Lisbon.", true},
		{"a statement", "I liked the holiday.", "In Lisbon.", false},
		{"an address", "See holiday.example/a?b=c", "In Lisbon.", false},
		{"a long reply", "Where did you spend the holiday?", long, false},
		{"a long question", "Where did you spend the holiday? " + long, "In Lisbon.", false},
		{"Japanese", "holiday はどこで？", "リスボンで。", true},
		{"Arabic", "أين holiday؟", "في لشبونة", true},
		{"Armenian", "Ո՞ւր holiday", "Լիսաբոն", true},
		{"Greek", "Πού είναι και τι ήταν το holiday;", "Στη Λισαβόνα.", true},
		{"a semicolon", "The holiday; it was good;", "In Lisbon.", false},
	} {
		ix := chat("Good morning.", c.question, c.reply, "Nice.")
		var found bool
		for _, h := range ix.Search(Query{Text: "holiday"}).Hits {
			if h.Path == "chat/002.txt" {
				found = true
				if h.Score != h.Components[componentReply] || h.Components[componentBM25] != 0 {
					t.Errorf("%s: the reply scores %v of %v", c.name, h.Score, h.Components)
				}
			}
		}
		if found != c.found {
			t.Errorf("%s: the reply is found: %t, want %t", c.name, found, c.found)
		}
	}
}

// A reply to a reply gets nothing of the first question, one that is found by its words gets its
// share as well, and a filter applies to it.
func TestReplyScores(t *testing.T) {
	ix := chat("Where was the holiday?", "The holiday? In Lisbon?", "Yes.", "Good.")
	hits := ix.Search(Query{Text: "holiday"}).Hits
	score := map[string]Hit{}
	for _, h := range hits {
		score[h.Path] = h
	}
	asked, answer, last := score["chat/000.txt"], score["chat/001.txt"], score["chat/002.txt"]
	if share := answer.Components[componentReply]; share != defaultWeights.reply*asked.Score || answer.Components[componentBM25] == 0 {
		t.Errorf("the answer is given %v of %v, its components are %v", share, asked.Score, answer.Components)
	}
	if own := answer.Score - answer.Components[componentReply]; last.Score != defaultWeights.reply*own {
		t.Errorf("the reply to the answer has %v, want a share of %v", last.Score, own)
	}
	if len(hits) != 3 {
		t.Errorf("%d hits, want 3", len(hits))
	}
	for _, h := range ix.Search(Query{Text: "holiday", Filter: Filter{Except: map[string]bool{"chat/002.txt": true}}}).Hits {
		if h.Path == "chat/002.txt" {
			t.Error("a reply is found that the filter excludes")
		}
	}
	words, conditions, _ := question.ParseOperators(`"the holiday"`)
	res := search(t, NewSearcher(ix, Config{}), Query{Text: words, Conditions: conditions})
	if got := paths(res); len(got) != 2 || slices.Contains(got, "chat/002.txt") {
		t.Errorf("%q are found with a phrase", got)
	}
}

// Among more candidates than are rescored, each is found once, in the order of the scores, whatever
// part of the ranking is asked for.
func TestRepliesAmongMany(t *testing.T) {
	var turns []string
	for i := range 500 {
		turns = append(turns, fmt.Sprintf("Which harbour, number %d? %s", i, strings.Repeat("sea ", i%17)), "A harbour "+strings.Repeat("of words ", 18))
	}
	ix := chat(turns...)
	all := ix.Search(Query{Text: "which harbour", TopK: 2000}).Hits
	seen := map[string]bool{}
	for i, h := range all {
		if seen[h.ChunkID] || i > 0 && h.Score > all[i-1].Score {
			t.Fatalf("hit %d is %s with %v, after %v", i, h.ChunkID, h.Score, all[i-1].Score)
		}
		seen[h.ChunkID] = true
	}
	if len(all) != 1000 {
		t.Errorf("%d hits, want 1000", len(all))
	}
	own := &scratch{}
	ix.score(&own.scores, ix.known(ix.queryTerms("which harbour")))
	for _, h := range all {
		if want := own.scores.sums[ix.docs[h.Path].first]; h.Components[componentBM25] != want {
			t.Errorf("the words of %s score %v, want %v", h.Path, h.Components[componentBM25], want)
		}
	}
	some := ix.Search(Query{Text: "which harbour", TopK: 20}).Hits
	for i, h := range some {
		if h.ChunkID != all[i].ChunkID || h.Score != all[i].Score {
			t.Errorf("hit %d of 20 is %s, of all it is %s", i, h.ChunkID, all[i].ChunkID)
		}
	}
}

// Documents that are no turns are ranked as if there were no replies.
func TestRepliesCostDocumentsNothing(t *testing.T) {
	docs := []document.Document{{Path: "a.txt", Text: "Where was the holiday?"}, {Path: "b.txt", Text: "In Lisbon."}}
	ix := New(nil)
	ix.Put(docs...) // without a date
	if hits := ix.Search(Query{Text: "holiday"}).Hits; len(hits) != 1 || hits[0].Components[componentReply] != 0 {
		t.Errorf("found %+v", hits)
	}
}
