package scorer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// reading is a question of datasets/core.jsonl with what a memory system returned for it, and a
// judgement: for each piece of evidence, whether what was returned tells a reader of the question what
// the evidence does. A document that was returned whole tells its own evidence; everything else was
// judged by reading.
type reading struct {
	System   string         `json:"system"`
	Question string         `json:"question"`
	Returned []returnedText `json:"returned"`
	Has      []bool         `json:"has"`
}

// returnedText is a returned text: of a document the whole, with what the system added to it, or else
// what is in Text.
type returnedText struct {
	Document string `json:"document,omitempty"`
	Whole    bool   `json:"whole,omitempty"`
	Text     string `json:"text,omitempty"`
}

// TestSystems shows how often the rule for evidence agrees with judgements by reading of what real
// memory systems return: whole documents, chunks, texts that are cut off, with words of the system's
// own. 20 questions a system were drawn at random.
func TestSystems(t *testing.T) {
	f, err := os.Open("testdata/systems.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	expected := coreEvidence(t)
	var all agreement
	systems, bySystem, questions := []string{}, map[string]*agreement{}, map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r reading
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		evidence := expected[r.Question]
		if len(evidence) == 0 || len(evidence) != len(r.Has) {
			t.Fatalf("%s: %d pieces of evidence, %d judgements", r.Question, len(evidence), len(r.Has))
		}
		var passages []Passage
		for _, text := range r.Returned {
			passages = append(passages, text.passage(t))
		}
		if bySystem[r.System] == nil {
			systems, bySystem[r.System] = append(systems, r.System), &agreement{}
		}
		questions[r.System]++
		for i, rank := range EvidenceRanks(evidence, passages) {
			bySystem[r.System].add(rank > 0, r.Has[i])
			all.add(rank > 0, r.Has[i])
			if rank > 0 != r.Has[i] {
				t.Logf("%s %s: judged %t, by the rule %t: %q", r.System, r.Question, r.Has[i], rank > 0, evidence[i])
			}
		}
	}
	line := func(name string, questions int, a *agreement) string {
		return fmt.Sprintf("%-14s %3d questions, %3d of %3d pieces agree (%.1f %%), %d credited wrongly, %d missed",
			name, questions, a.agree, a.n, 100*float64(a.agree)/float64(a.n), a.wrongly, a.missed)
	}
	total := 0
	for _, s := range systems {
		t.Log(line(s, questions[s], bySystem[s]))
		if questions[s] != 20 {
			t.Errorf("%s has %d questions", s, questions[s])
		}
		total += questions[s]
	}
	t.Log(line("all", total, &all))
	if len(systems) != 11 || all.wrongly > 0 || float64(all.agree) < 0.95*float64(all.n) {
		t.Errorf("%d systems, %+v", len(systems), all)
	}
}

// passage returns the text with the words of its document.
func (r returnedText) passage(t *testing.T) Passage {
	t.Helper()
	if !r.Whole {
		return Passage{Document: r.Document, Text: r.Text}
	}
	data := filetest.Read(t, filepath.Join("..", "datasets", "core.corpus", filepath.FromSlash(r.Document)))
	text := string(data)
	if front, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n"); ok && !strings.Contains(front, "\n\n") {
		text = body
	}
	return Passage{Document: r.Document, Text: text + r.Text}
}

// coreEvidence returns the pieces of evidence of the questions of datasets/core.jsonl, by id.
func coreEvidence(t *testing.T) map[string][]string {
	t.Helper()
	data := filetest.Read(t, filepath.Join("..", "datasets", "core.jsonl"))
	evidence := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		var q struct {
			ID       string   `json:"id"`
			Evidence []string `json:"expected_evidence"`
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		evidence[q.ID] = slices.Clone(q.Evidence)
	}
	return evidence
}
