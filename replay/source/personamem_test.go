package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/filetest"
	"evalctl/scorer"
)

const personaHeader = "persona_id,question_id,question_type,topic,user_question_or_message,correct_answer,all_options," +
	"shared_context_id,end_index_in_shared_context\n"

const personaRow = `0,q1,recall_user_shared_facts,tea,Which tea do I like?,(b),"['(a) Black, I\'d say.', ""(b) Mint, as you said it's the best."", '(c) None.', '(d) Green.']",c0ffee,3` + "\n"

const personaContextLine = `{"c0ffee": [{"role": "system", "content": "The user is fond of tea."}, {"role": "user", "content": "I like mint tea."},` +
	`{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Now I like green tea."}]}` + "\n"

func personaFolder(t *testing.T, table, contexts string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"questions_32k.csv": table, "shared_contexts_32k.jsonl": contexts} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	return filepath.Join(dir, "questions_32k.csv")
}

func TestPersonaMem(t *testing.T) {
	path := personaFolder(t, personaHeader+personaRow, personaContextLine)
	var positions []string
	for seed := range uint64(40) {
		b := open(t, path, Options{OptionSeed: seed})
		q := b.Questions[0]
		letter := q.Checks[0].Choice
		if !strings.Contains(q.Text, "\n("+letter+") Mint, as you said it's the best.") ||
			!strings.Contains(q.Text, ") Black, I'd say.") || !slices.Contains(q.Tags, "position:"+letter) {
			t.Fatalf("question %+v", q)
		}
		if !slices.Contains(positions, letter) {
			positions = append(positions, letter)
		}
		h := haystack(t, b, q.Haystack)
		if text := h.Sessions[0].Text(); strings.Contains(text, "green") || !strings.Contains(text, "system: The user is fond") {
			t.Fatalf("the context has what comes after the question, or not the system's message:\n%s", text)
		}
	}
	if len(positions) != 4 {
		t.Errorf("the right option is only at %v", positions)
	}
	kept := open(t, path, Options{FileOrder: true})
	if c := kept.Questions[0].Checks[0].Choice; c != "b" || !strings.Contains(kept.Questions[0].Text, "\n(b) Mint, as you said it's the best.") {
		t.Errorf("in the order of the file the right letter is %s:\n%s", c, kept.Questions[0].Text)
	}
	first, second := open(t, path, Options{OptionSeed: 3}), open(t, path, Options{OptionSeed: 3})
	if first.Questions[0].Text != second.Questions[0].Text {
		t.Error("the same seed gives two orders")
	}
}

func TestPersonaMemErrors(t *testing.T) {
	for want, files := range map[string][2]string{
		"the table has no column correct_answer; its header is":        {strings.Replace(personaHeader, "correct_answer", "right", 1) + personaRow, personaContextLine},
		`row 2: question "q1": there is no context "c0ffee"`:           {personaHeader + personaRow, strings.Replace(personaContextLine, "c0ffee", "dead", 1)},
		"end_index_in_shared_context is \"9\" and must be from 1 to 4": {personaHeader + strings.Replace(personaRow, ",3\n", ",9\n", 1), personaContextLine},
		"the 4 options have no (e)":                                    {personaHeader + strings.Replace(personaRow, "(b),", "(e),", 1), personaContextLine},
		"all_options: character":                                       {personaHeader + strings.Replace(personaRow, "['(a)", "['(a", 1) + "", ""},
	} {
		if files[1] == "" {
			files = [2]string{personaHeader + `0,q1,t,tea,Which?,(b),"['(a) x'",c0ffee,3` + "\n", personaContextLine}
		}
		_, err := Open(t.Context(), personaFolder(t, files[0], files[1]), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The check of a question holds for its right option and for no other.
func TestPersonaMemChoice(t *testing.T) {
	b := open(t, personaFolder(t, personaHeader+personaRow, personaContextLine), Options{OptionSeed: 1})
	q := b.Questions[0]
	for _, letter := range []string{"a", "b", "c", "d"} {
		v, err := scorer.Checks{}.Score(t.Context(), scorer.Item{ID: q.ID, Question: q.Text, Answer: "The answer is (" + letter + ").", Checks: q.Checks})
		if err != nil || v.Passed() != (letter == q.Checks[0].Choice) {
			t.Errorf("(%s) is judged %v, %v; right is %s", letter, v.Passed(), err, q.Checks[0].Choice)
		}
	}
}

// What Python writes for a list of strings is read as they are.
func TestPythonStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("ab'\"\\\n ,[]é")))).Draw(t, "list")
		var quoted []string
		for _, s := range list {
			quote := "'"
			if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
				quote = `"`
			}
			s = strings.NewReplacer(`\`, `\\`, "\n", `\n`, quote, `\`+quote).Replace(s)
			quoted = append(quoted, quote+s+quote)
		}
		got, err := pythonStrings("[" + strings.Join(quoted, ", ") + "]")
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("got %q, %v, want %q", got, err, list)
		}
	})
}

func FuzzPython(f *testing.F) {
	for _, text := range []string{`['a', "b\x41"]`, `{'a': [1, -2.5, None], "b": (True,)}`, `[`, `'\u00e9`, `[[[[`, `{1: 2}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := pythonValue(text)
		if (v == nil) && err == nil && !strings.Contains(text, "None") && !strings.Contains(text, "null") {
			t.Errorf("%q is nothing", text)
		}
	})
}

// TestPersonaMemSimilarContexts: contexts whose ids begin alike have haystacks of their own.
func TestPersonaMemSimilarContexts(t *testing.T) {
	row := strings.ReplaceAll(personaRow, "c0ffee", "shared_context_1")
	other := strings.NewReplacer("c0ffee", "shared_context_2", "q1", "q2").Replace(personaRow)
	contexts := strings.ReplaceAll(personaContextLine, "c0ffee", "shared_context_1") +
		strings.NewReplacer("c0ffee", "shared_context_2", "mint", "oolong").Replace(personaContextLine)
	b := open(t, personaFolder(t, personaHeader+row+other, contexts), Options{})
	for i, want := range []string{"mint", "oolong"} {
		if text := haystack(t, b, b.Questions[i].Haystack).Sessions[0].Text(); !strings.Contains(text, want) {
			t.Errorf("question %d has the context\n%s", i+1, text)
		}
	}
}
