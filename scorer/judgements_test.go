package scorer

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// judgement is a returned text that somebody has read. Has is whether it tells a reader of the
// question what the evidence does. Several texts are passages of one document.
type judgement struct {
	Kind     string   `json:"kind"`
	Question string   `json:"question"`
	Evidence string   `json:"evidence"`
	Texts    []string `json:"texts"`
	Has      bool     `json:"has"`
}

// agreement counts judgements: how many the rule agrees with, and how it errs.
type agreement struct{ n, agree, wrongly, missed int }

// TestJudgements shows how often the rule for evidence agrees with judgements by reading. It must not
// credit what does not tell the evidence. What it misses are texts in other words, and parts that are
// enough for the question.
func TestJudgements(t *testing.T) {
	f, err := os.Open("testdata/judgements.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds, byKind := []string{}, map[string]*agreement{}
	var all, literal agreement // literal are those in the words of the evidence
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var j judgement
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		var passages []Passage
		for _, text := range j.Texts {
			passages = append(passages, Passage{Document: "one", Text: text})
		}
		found := EvidenceRanks([]string{j.Evidence}, passages)[0] > 0
		if byKind[j.Kind] == nil {
			kinds, byKind[j.Kind] = append(kinds, j.Kind), &agreement{}
		}
		counts := []*agreement{byKind[j.Kind], &all}
		if !strings.Contains("reordered paraphrased translated", j.Kind) {
			counts = append(counts, &literal)
		}
		for _, a := range counts {
			a.add(found, j.Has)
		}
		if found && !j.Has {
			t.Logf("credited wrongly: %s: %q for %q", j.Kind, j.Texts, j.Evidence)
		}
	}
	for _, kind := range kinds {
		a := byKind[kind]
		t.Logf("%-28s %3d of %3d agree, %d credited wrongly, %d missed", kind, a.agree, a.n, a.wrongly, a.missed)
	}
	t.Logf("%-28s %3d of %3d agree, %d credited wrongly, %d missed", "in the words of the evidence", literal.agree, literal.n, literal.wrongly, literal.missed)
	t.Logf("%-28s %3d of %3d agree, %d credited wrongly, %d missed", "all", all.agree, all.n, all.wrongly, all.missed)
	if all.n != 300 || all.wrongly > 1 {
		t.Errorf("%d judgements, %d credited wrongly", all.n, all.wrongly)
	}
	for _, kind := range []string{"whole", "JSON", "line-wrapped", "Markdown", "chunk boundary, both halves", "other turn"} {
		if a := byKind[kind]; a == nil || a.agree < a.n {
			t.Errorf("%s: %+v: the form of a text must not matter, nor what was said beside it", kind, a)
		}
	}
}

func (a *agreement) add(found, has bool) {
	a.n++
	switch {
	case found == has:
		a.agree++
	case found:
		a.wrongly++
	default:
		a.missed++
	}
}
