package scorer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"evalctl/internal/llm"
)

// words is a model that replies with one text for each model name, and counts its requests.
type words map[string]string

func (words) Name() string { return "words" }

func (w words) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	text, ok := w[r.Model]
	if !ok {
		return llm.Response{Attempts: 1}, llm.ErrBudgetExceeded
	}
	return llm.Response{Text: text, Model: r.Model, Attempts: 1, Usage: llm.Usage{InputTokens: 10, OutputTokens: 1}, Cost: 5, SavedUSD: 3}, nil
}

func panelOf(t *testing.T, w words, models ...string) *Panel {
	t.Helper()
	var members []Member
	for _, m := range models {
		j, err := NewTyped(w, m, strictPrompts())
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, Member{Recipe: m, Judge: j})
	}
	p, err := NewPanel(members...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var panelItem = Item{ID: "q1", Question: "What colour?", Reference: "Blue", Answer: "It is blue."}

// TestPanel scores an answer by three judges, of which one has no usable verdict.
func TestPanel(t *testing.T) {
	w := words{"a": `{"score": 0, "reason": "no"}`, "b": `{"score": 1, "reason": "yes"}`, "c": "perhaps"}
	v, err := panelOf(t, w, "a", "b", "c").Score(t.Context(), panelItem)
	if err != nil {
		t.Fatal(err)
	}
	if v.Passed() || v.Reason != "no" || v.Attempts != 4 || v.Cost != 20 || v.Saved != 12 || v.Usage.InputTokens != 40 {
		t.Errorf("the headline is %+v", v)
	}
	if len(v.Recipes) != 3 || !v.Recipes[1].Passed() || v.Recipes[1].Cost != 5 || v.Recipes[2].Scored || v.Recipes[2].Recipe != "c" {
		t.Errorf("recipes %+v", v.Recipes)
	}
	v, err = panelOf(t, w, "a", "gone").Score(t.Context(), panelItem)
	if !errors.Is(err, llm.ErrBudgetExceeded) || !strings.Contains(err.Error(), "recipe gone") || v.Scored || v.Recipes != nil || v.Attempts != 2 {
		t.Errorf("after an error: %+v, %v", v, err)
	}
	if err := panelOf(t, w, "a", "b").Check(Item{ID: "q2"}); err == nil {
		t.Error("an item without a reference passes the check")
	}
	if _, err := NewPanel(Member{Recipe: "a"}, Member{Recipe: "a"}); err == nil {
		t.Error("two recipes have one name")
	}
	if _, err := NewPanel(Member{Recipe: "a"}); err == nil {
		t.Error("a panel has one judge")
	}
}

// TestPanelUnanswered: the verdict shows that a judge did not answer, whichever judge it is.
func TestPanelUnanswered(t *testing.T) {
	up, err := NewTyped(words{"a": `{"score": 1, "reason": "yes"}`}, "a", strictPrompts())
	if err != nil {
		t.Fatal(err)
	}
	down, err := NewTyped(unreachable{}, "b", strictPrompts())
	if err != nil {
		t.Fatal(err)
	}
	for name, judges := range map[string][]*Judge{"headline": {down, up}, "further": {up, down}, "none": {up, up}} {
		p, err := NewPanel(Member{Recipe: "first", Judge: judges[0]}, Member{Recipe: "second", Judge: judges[1]})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Score(t.Context(), panelItem)
		if err != nil || v.Scored != (judges[0] == up) || v.Unanswered != (name != "none") {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestLabels reads replies of a word alone and of an object. A word within a sentence is no verdict.
func TestLabels(t *testing.T) {
	word := &Labels{Right: []string{"yes"}, Wrong: []string{"no"}}
	object := &Labels{Key: "label", Right: []string{"CORRECT"}, Wrong: []string{"WRONG"}}
	for _, tt := range []struct {
		labels *Labels
		text   string
		answer string
		score  float64
		ok     bool
	}{
		{word, "Yes.", "", 1, true}, {word, " **no**\n", "", 0, true}, {word, "yes and no", "", 0, false}, {word, "", "", 0, false},
		{word, "not yes", "", 0, false}, {word, "```\nyes\n```", "", 1, true}, {word, "<think>no</think>\nyes", "", 1, true},
		{word, "Both say green.\n\nYES", "", 1, true}, {word, "no\nyes", "", 0, false}, {word, "yes\nsaid he", "", 0, false},
		{word, "He says\nyes", "Yes.", 0, false}, {word, "yes", "Yes.", 1, true}, {word, "<think>yes", "", 0, false},
		{object, `{"reasoning": "r", "label": "correct"}`, "", 1, true}, {object, `{"label": "WRONG"}`, "", 0, true},
		{object, `{"label": true}`, "", 0, false}, {object, `so {"label": "CORRECT"}`, "", 1, true}, {object, `CORRECT`, "", 0, false},
		{object, `{"label": "CORRECT", "label": "WRONG"}`, "", 0, false}, {object, `{"label": "CORRECT"} or {"label": "WRONG"}`, "", 0, false},
		{object, `he says {"label": "CORRECT"}`, `{"label":"CORRECT"}`, 0, false},
	} {
		g, err := tt.labels.parse(tt.text, Item{Answer: tt.answer})
		if (err == nil) != tt.ok || g.score != tt.score || tt.ok && g.reason == "" {
			t.Errorf("%q is %v, %v", tt.text, g, err)
		}
	}
	for _, right := range []bool{true, false} {
		for _, l := range []*Labels{word, object} {
			if g, err := l.parse(l.reply(right), Item{}); err != nil || (g.score == 1) != right {
				t.Errorf("its own reply %q is %v, %v", l.reply(right), g, err)
			}
		}
	}
	for _, bad := range []*Labels{{}, {Right: []string{"a"}}, {Right: []string{"a"}, Wrong: []string{"A"}}, {Right: []string{" a"}, Wrong: []string{"b"}}} {
		if bad.check() == nil {
			t.Errorf("%+v passes the check", bad)
		}
	}
}

// TestLabelsAfterThoughts: a label alone after the thoughts is the judge's own, even if the
// reference is a label. It may be a quotation if a text has a mark of thoughts and a label.
func TestLabelsAfterThoughts(t *testing.T) {
	labels := &Labels{Right: []string{"yes"}, Wrong: []string{"no"}}
	for _, tt := range []struct {
		text, answer, reference string
		ok                      bool
	}{
		{"<think>hm</think>\nyes", "Yes.", "Yes.", true},
		{"hm</think>\n\n**Yes**", "It is so.\nYes.", "Yes.", true},
		{"<think>hm</think>\n```\nyes\n```", "Yes.", "Yes.", true},
		{"<think>hm</think>\nyes", "<think>let me see</think>\n18 days", "18 days", true},
		{"<think>hm</think>\nHe says\nyes", "Yes.", "x", false},
		{"<think>It says </think>yes", "</think>yes", "x", false},
		{"<think>It says </think>\nyes", "</think>\nyes", "x", false},
		{"<think>It says </THINK> yes", "nothing </THINK> yes", "x", false},
		{"<think>It says [/THINK]yes", "[/THINK]yes", "x", false},
		{"It says </think>\nyes", "I know </think> this.\nyes", "x", false},
		{"yes\n<think>is what it says", "yes\n<think>", "x", false},
		{"<think>It says </think>\nIt is\nyes", "</think>yes", "x", false},
		{"<think>It says </think>yes", "x", "</think>yes", false},
	} {
		g, err := labels.parse(tt.text, Item{Answer: tt.answer, Reference: tt.reference})
		if (err == nil) != tt.ok || tt.ok && g.score != 1 {
			t.Errorf("%q about %q is %v, %v", tt.text, tt.answer, g, err)
		}
	}
}

// TestRecipePrompts pins the built-in prompts: a change of any text needs another version.
func TestRecipePrompts(t *testing.T) {
	for name, want := range map[string]string{
		RecipeStrict:    "strict-1 14dc015a",
		RecipeBenchmark: "replay-1 51824ba5",
		RecipeGenerous:  "generous-1 4e8d0c18",
	} {
		set, err := RecipePrompts(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.check(); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%s %.8s", set.Name(), set.SHA256()); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if _, err := RecipePrompts("lax"); err == nil || !strings.Contains(err.Error(), "strict, benchmark, generous") {
		t.Error(err)
	}
}

// TestOfflineRecipes has answers that the offline recipes judge differently: each passes what a
// stricter one passes.
func TestOfflineRecipes(t *testing.T) {
	for _, tt := range []struct {
		reference, answer, kind    string
		strict, standard, generous bool
	}{
		{"7 May 2023", "On 7 May 2023.", "", true, true, true},
		{"7 May 2023", "In May 2023.", "", false, true, true},
		{"the blue cup from Spain", "a cup", "", false, false, true},
		{"Berlin", "Paris", "", false, false, false},
		{"Berlin", "I don't know.", "", false, false, false},
		{"It was never mentioned.", "I don't know.", TypeAbstention, true, true, true},
		{"It was never mentioned.", "Berlin", TypeAbstention, false, false, false},
	} {
		for name, want := range map[string]bool{RecipeStrict: tt.strict, RecipeBenchmark: tt.standard, RecipeGenerous: tt.generous} {
			set, err := RecipePrompts(name)
			if err != nil {
				t.Fatal(err)
			}
			item := Item{Question: "q", Reference: tt.reference, Answer: tt.answer, Type: tt.kind}
			p := set[TypeStandard]
			if tt.kind != "" {
				p = set[tt.kind]
			}
			g, err := p.parse(p.fakeReply(item), item)
			if err != nil || (g.score >= PassMark) != want {
				t.Errorf("%s: %q for %q is %v, %v", name, tt.answer, tt.reference, g.score, err)
			}
		}
	}
}
