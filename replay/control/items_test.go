package control

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/internal/llm"
	"evalctl/replay/source"
	"evalctl/scorer"
)

var topics = []string{"violin", "Toyota", "Lisbon", "marathon", "tortoise", "sourdough", "lighthouse", "chess", "orchid", "ferry"}

// questions returns n questions about different topics, of every type in turn.
func questions(n int) []source.Question {
	kinds := []string{"single-session-user", "temporal-reasoning", "knowledge-update", "single-session-preference", "abstention"}
	list := make([]source.Question, n)
	for i := range list {
		topic := fmt.Sprintf("%s%c", topics[i%len(topics)], 'a'+rune(i/len(topics)%26))
		q := source.Question{
			ID: fmt.Sprintf("q%d", i), Type: kinds[i%len(kinds)], Text: "What about it?",
			Haystack: fmt.Sprintf("h%d", i/2), Brain: fmt.Sprintf("h%d", i/2), Answer: "The " + topic,
		}
		switch q.Type {
		case "temporal-reasoning":
			q.Text, q.Answer = "How many days did it take?", fmt.Sprintf("%d days in %s", 10*i+3, topic)
		case "knowledge-update":
			q.Answer = fmt.Sprintf("$%d for the %s", 1000+100*i, topic)
		case "single-session-preference":
			q.Answer = "The user would prefer suggestions about their " + topic + " and its " + topic + "ness."
		case "abstention":
			q.Abstention, q.Answer = true, "You did not mention the "+topic+"."
		}
		list[i] = q
	}
	return list
}

func counts(items []Item) (right, wrong int, kinds map[string]int) {
	kinds = map[string]int{}
	for _, item := range items {
		kinds[item.Kind]++
		if item.Right {
			right++
		} else {
			wrong++
		}
	}
	return right, wrong, kinds
}

// TestItems: enough questions give all items that are wanted, of all kinds and types.
func TestItems(t *testing.T) {
	items := Items(questions(50), 42)
	right, wrong, kinds := counts(items)
	if right != Wanted || wrong != Wanted {
		t.Errorf("%d right and %d wrong items", right, wrong)
	}
	for _, kind := range []string{KindReference, KindOther, KindEmpty, KindUnknown, KindVague} {
		if kinds[kind] < 2 {
			t.Errorf("%d items of kind %s", kinds[kind], kind)
		}
	}
	for _, right := range []bool{true, false} {
		types := map[string]int{}
		for _, item := range items {
			if item.Right == right {
				types[item.Type]++
			}
		}
		for _, kind := range scorer.Types() {
			if rubric := right && kind == scorer.TypePreference; (types[kind] >= 2) == rubric || rubric && types[kind] > 0 {
				t.Errorf("right %v: %d of type %s", right, types[kind], kind)
			}
		}
	}
	if again := Items(questions(50), 42); !cmp.Equal(items, again) {
		t.Error(cmp.Diff(items, again))
	}
	if cmp.Equal(items, Items(questions(50), 43)) {
		t.Error("another seed has the same items")
	}
	backward := questions(50)
	slices.Reverse(backward)
	if other := Items(backward, 42); !cmp.Equal(items, other) {
		t.Error("the order of the questions matters:", cmp.Diff(items, other))
	}
}

// TestFewQuestions: few questions are used again, with other wrong answers.
func TestFewQuestions(t *testing.T) {
	for n, want := range map[int][2]int{0: {0, 0}, 1: {1, 6}, 2: {2, 14}, 5: {4, 14}, 14: {11, 14}, 20: {14, 14}} {
		right, wrong, _ := counts(Items(questions(n), 7))
		if right != want[0] || wrong != want[1] {
			t.Errorf("%d questions: %d right and %d wrong items, want %v", n, right, wrong, want)
		}
	}
}

// TestItemsProperty: no item occurs twice, no wrong answer has anything in common with the
// reference, and the exact scorer agrees with what is known.
func TestItemsProperty(t *testing.T) {
	answers := []string{
		"No", "Likely yes", "3", "three", "twice", "7 May 2023", "18 days. 19 days is also acceptable.", "know",
		"I don't know", "don't", "a", "❤️", " ", "", "Target", "She went about it at some point.", "empty", "Dr. Seuss's books",
		strings.Repeat("long ", 60), "one would expect",
	}
	exact := scorer.Exact{}
	rapid.Check(t, func(t *rapid.T) {
		list := questions(rapid.IntRange(0, 30).Draw(t, "questions"))
		for i := range list {
			if list[i].Abstention || list[i].Type == "single-session-preference" {
				continue
			}
			if rapid.Bool().Draw(t, "odd") {
				list[i].Answer = rapid.SampledFrom(answers).Draw(t, "answer")
			}
			if rapid.Bool().Draw(t, "expected") {
				list[i].ExpectedSubstrings = []string{rapid.SampledFrom(answers[:8]).Draw(t, "substring")}
			}
		}
		seen := map[string]bool{}
		for _, item := range Items(list, rapid.Uint64().Draw(t, "seed")) {
			key := fmt.Sprint(item.ID, item.Right, item.Answer)
			if seen[key] {
				t.Fatalf("twice: %+v", item)
			}
			seen[key] = true
			if item.Kind != KindReference == item.Right {
				t.Fatalf("a wrong kind: %+v", item)
			}
			if !item.Right && (shareWords(item.Answer, item.Reference) || item.Kind == KindOther && opinion().MatchString(item.Answer)) {
				t.Fatalf("may be right: %+v", item)
			}
			if exact.Check(item.Item) != nil {
				continue
			}
			v, err := exact.Score(t.Context(), item.Item)
			if err != nil || v.Passed() != item.Right {
				t.Fatalf("the exact scorer disagrees: %+v, %+v, %v", item, v, err)
			}
		}
	})
}

func TestMayAgree(t *testing.T) {
	for _, tt := range []struct {
		reference, answer string
		want              bool
	}{
		{"3", "three", true},
		{"3 days", "4 weeks", true}, // one apart
		{"3 days", "5 weeks", false},
		{"twice", "2", true},
		{"$400,000", "400 books", true},
		{"7 May 2023", "June 2023", true},
		{"painting boats", "She paints", true},
		{"the violin", "the ferry", false},
		{"The", "the ferry", false},
	} {
		if got := mayAgree(tt.answer, scorer.Item{Reference: tt.reference}); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.reference, tt.answer, got)
		}
	}
	if !mayAgree("the ferry", scorer.Item{Reference: "a boat", Expected: []string{"Ferry"}}) {
		t.Error("an expected substring does not count")
	}
}

// TestNoDonors: what fits many questions, and what is no answer, is not another question's answer.
func TestNoDonors(t *testing.T) {
	for _, answer := range []string{"No", "Likely yes", "Both", "It was not mentioned.", "?", strings.Repeat("word ", 50)} {
		list := questions(1)
		list = append(list, source.Question{ID: "other", Type: "x", Haystack: "x", Text: "Which?", Answer: answer})
		for _, item := range Items(list, 1) {
			if item.Kind == KindOther && item.ID == "q0" {
				t.Errorf("%q is used: %+v", answer, item)
			}
		}
	}
}

// TestSameHaystack: an answer to a question about the same haystack and of the same type, which may
// be right as well, is not another question's answer.
func TestSameHaystack(t *testing.T) {
	others := func(haystack, kind string) (n int) {
		for _, item := range Items([]source.Question{
			{ID: "a", Type: "x", Haystack: "h", Text: "Which animal?", Answer: "The heron"},
			{ID: "b", Type: kind, Haystack: haystack, Text: "Which bird?", Answer: "The stork"},
		}, 1) {
			if item.Kind == KindOther {
				n++
			}
		}
		return n
	}
	if got := [...]int{others("h", "x"), others("h", "y"), others("i", "x"), others("i", "y")}; got != [...]int{0, 2, 2, 2} {
		t.Errorf("got %v answers of other questions", got)
	}
}

// TestUnusableQuestions: a question without a known answer has no part in the items.
func TestUnusableQuestions(t *testing.T) {
	for name, change := range map[string]func(*source.Question){
		"blank":    func(q *source.Question) { q.Answer = " " },
		"excluded": func(q *source.Question) { q.Erratum = &source.Erratum{Exclude: true} },
	} {
		list := questions(2)
		change(&list[0])
		for _, item := range Items(list, 1) {
			if item.ID == list[0].ID || item.Kind == KindOther {
				t.Errorf("%s: got %+v", name, item)
			}
		}
	}
	list := questions(2)
	list[0].Erratum = &source.Erratum{OriginalAnswer: "something else"}
	if right, _, _ := counts(Items(list, 1)); right != 2 {
		t.Errorf("%d right items with a corrected answer", right)
	}
}

func newJudge(t *testing.T, p llm.Provider, model string) *scorer.Judge {
	t.Helper()
	j, err := scorer.NewTyped(p, model, scorer.ReplayPrompts())
	if err != nil {
		t.Fatal(err)
	}
	return j
}
