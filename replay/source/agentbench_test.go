package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"

	"pgregory.net/rapid"
)

const agentRows = `{"context": "The kettle is green.\nThe cat is grey.", "questions": ["Which kettle?", "Which cat?"],
 "answers": [["green", "green", "Green one"], "grey"], "metadata": {"source": "eventqa_full", "qa_pair_ids": ["e_1", "e_2"], "question_dates": null}}
{"context": "Ann lives in Rome.", "questions": ["Where?"], "answers": [["Rome"]],
 "metadata": {"source": "longmemeval_s*", "question_types": ["multi-session"], "question_dates": ["2023/05/30 (Tue) 23:40"]}}`

func agentLines() string { return strings.ReplaceAll(agentRows, ",\n ", ", ") }

func TestMemoryAgentBench(t *testing.T) {
	array := "[" + strings.Replace(agentLines(), "}}\n{", "}},\n{", 1) + "]"
	for _, text := range []string{agentLines(), array} {
		b := open(t, writeFile(t, "rows.jsonl", text), Options{})
		if b.Format != dataset.MemoryAgentBench || len(b.Questions) != 3 || len(b.Infos()) != 2 {
			t.Fatalf("%s, %d questions, %d haystacks", b.Format, len(b.Questions), len(b.Infos()))
		}
		first, last := b.Questions[0], b.Questions[2]
		if first.ID != "e_1" || first.Type != "eventqa_full" || first.Answer != "green or Green one" ||
			!slices.Equal(first.ExpectedSubstrings, []string{"green", "Green one"}) {
			t.Errorf("%+v", first)
		}
		if last.ID != "rows-002-q001" || last.Type != "multi-session" || last.Date != "2023-05-30T23:40:00Z" {
			t.Errorf("%+v", last)
		}
		if h := haystack(t, b, "rows-001"); len(h.Sessions) != 1 || !strings.Contains(h.Sessions[0].Text(), "The cat is grey.") {
			t.Errorf("%+v", h)
		}
	}
	for want, text := range map[string]string{
		"row 1: it has 2 questions and 1 answers":       strings.Replace(agentLines(), `, "grey"]`, `]`, 1),
		`the question id "e_1" occurs twice`:            strings.Replace(agentLines(), `"e_2"`, `"e_1"`, 1),
		"row 2: question 1: answers: it must be a list": strings.Replace(agentLines(), `[["Rome"]]`, `[7]`, 1),
	} {
		if _, err := Open(t.Context(), writeFile(t, "rows.jsonl", text), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The parts of a text have all its words, and none is too long.
func TestPartsOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "tea", "\n", strings.Repeat("x", 3000), "é"})
		text := strings.Repeat(strings.Join(rapid.SliceOfN(word, 1, 40).Draw(t, "words"), " "), rapid.IntRange(1, 30).Draw(t, "times"))
		parts := partsOf(text)
		if got := strings.Join(strings.Fields(strings.Join(parts, " ")), ""); got != strings.Join(strings.Fields(text), "") {
			t.Fatalf("the parts of %d bytes have other words", len(text))
		}
		for _, p := range parts {
			if len(p) > contextPart {
				t.Fatalf("a part has %d bytes", len(p))
			}
		}
	})
}

// TestMemoryAgentBenchRules: questions whose answers are ids of films are not asked, and those
// that lack their task are counted.
func TestMemoryAgentBenchRules(t *testing.T) {
	row := `{"context": "%s", "questions": ["%s"], "answers": [["%s"]], "metadata": {"source": "%s"}}` + "\n"
	text := fmt.Sprintf(row, "Seen: Heat.", "A film?", "4158", "recsys_redial_full") +
		fmt.Sprintf(row, "card lost label: 28", "I lost my card.", "28", "icl_banking77_5900shot_balance") +
		fmt.Sprintf(row, "1. Ann is king.", "Who is king?", "Ann", "factconsolidation_sh_6k") + agentLines()
	b := open(t, writeFile(t, "rows.jsonl", text), Options{})
	if len(b.Questions) != 5 || len(b.Infos()) != 4 || b.Questions[0].Haystack != "rows-002" {
		t.Errorf("%d haystacks, %+v", len(b.Infos()), b.Questions)
	}
	got := counts(b)
	if got["answers-are-ids"] != 1 || got["question-without-its-task"] != 2 {
		t.Errorf("the traps are %v", got)
	}
}
