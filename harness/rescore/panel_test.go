package rescore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/rescore"
	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/replay/imports"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// lenient is a model that passes a planted number of the answers that it is asked about: those whose
// questions have the smallest digests.
type lenient struct{ passes map[string]map[string]bool } // by model and question

func (l lenient) plant(model string, questions []string, n int) {
	digest := func(q string) string { sum := sha256.Sum256([]byte(model + q)); return hex.EncodeToString(sum[:]) }
	ordered := slices.SortedFunc(slices.Values(questions), func(a, b string) int {
		return bytes.Compare([]byte(digest(a)), []byte(digest(b)))
	})
	l.passes[model] = map[string]bool{}
	for _, q := range ordered[:n] {
		l.passes[model][q] = true
	}
}

func (l lenient) reply(c llmtest.Call) llmtest.Reply {
	var asked struct {
		Question  string `json:"question"`
		Reference string `json:"reference_answer"`
	}
	if err := json.Unmarshal([]byte(c.Messages[len(c.Messages)-1].Content), &asked); err != nil {
		return llmtest.Reply{Status: 400, Body: err.Error()}
	}
	score := 0
	if l.passes[c.Model][asked.Question+"\n"+asked.Reference] {
		score = 1
	}
	return llmtest.Reply{Text: fmt.Sprintf(`{"score": %d, "reason": "planted"}`, score), Input: 10, Output: 5}
}

// imported imports answers and returns the path of the result, and its questions with their references.
func imported(t *testing.T, dataset, answers string) (path string, questions []string) {
	t.Helper()
	b, err := source.Open(t.Context(), dataset, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	im, err := imports.Read(imports.Spec{Files: []string{answers}, Dataset: b})
	if err != nil {
		t.Fatal(err)
	}
	tool := result.ToolID{Version: "v", OS: "linux", Arch: "amd64", Go: "go", CPUs: 1}
	if _, path, err = im.Write(t.Context(), t.TempDir(), im.Identity("wrong", tool)); err != nil {
		t.Fatal(err)
	}
	for _, r := range im.Records {
		questions = append(questions, r.Question+"\n"+r.Reference)
	}
	return path, questions
}

// TestPlantedLeniency judges answers that are wrong on purpose by models of a known leniency. Every
// answer that passes is a false positive, and their number is the planted one, for every recipe.
func TestPlantedLeniency(t *testing.T) {
	for _, tt := range []struct{ name, dataset, answers string }{
		{"own", "../../datasets/audit/talks.json", "../../datasets/audit/wrong.json"},
		{"published", "../../../shared/data/locomo/locomo5.json", "../../../shared/data/imports/audit_wrong_on_purpose_v1_scored.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := os.Stat(tt.answers); err != nil {
				t.Skipf("no answers at %s", tt.answers)
			}
			path, questions := imported(t, tt.dataset, tt.answers)
			l := lenient{map[string]map[string]bool{}}
			planted := map[string]int{"hard": len(questions) * 6 / 100, "usual": len(questions) * 63 / 100, "soft": len(questions) * 90 / 100}
			for model, n := range planted {
				l.plant(model, questions, n)
			}
			stub := llmtest.NewServer(t, l.reply)
			var list []string
			for i, model := range []string{"usual", "hard", "soft"} {
				file := filepath.Join(t.TempDir(), model+".yaml")
				text := fmt.Sprintf("prompt: benchmark\nmodel: openai/%s\ntemperature: 0.%d\n", model, i)
				filetest.Write(t, file, text)
				list = append(list, file)
			}
			recipes, err := judging.Recipes(list)
			if err != nil {
				t.Fatal(err)
			}
			env := func(name string) string {
				return map[string]string{"OPENAI_BASE_URL": stub.URL, "OPENAI_API_KEY": "k"}[name]
			}
			kind, err := scorer.Find("judge")
			if err != nil {
				t.Fatal(err)
			}
			r, err := rescore.Plan(rescore.Spec{
				File: path, Scorer: kind, Env: env,
				Models: plan.Models{Judge: "openai/usual", Money: plan.Money{Prices: llm.DefaultPrices()}, Panel: recipes},
				Tool:   result.ToolID{Version: "v", OS: "linux", Arch: "amd64", Go: "go", CPUs: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			j, err := r.Journal(false)
			if err != nil {
				t.Fatal(err)
			}
			res, out, err := r.Run(t.Context(), result.Settings{Concurrency: 8}, nil, nil, j)
			if err != nil {
				t.Fatal(err)
			}
			asked := map[string]int{}
			for _, c := range stub.Calls() {
				asked[c.Model]++
				want := map[string]string{"usual": `"temperature":0`, "hard": `"temperature":0.1`, "soft": `"temperature":0.2`}[c.Model]
				if !bytes.Contains(c.Body, []byte(want)) {
					t.Fatalf("%s is asked without %s: %.300s", c.Model, want, c.Body)
				}
			}
			for i, f := range res.Panel.Recipes {
				if n := planted[f.Recipe]; f.Counts.Passed != n || asked[f.Recipe] != res.Total {
					t.Errorf("%s passed %d of %d, and %d were planted; it was asked %d times", f.Recipe, f.Counts.Passed, f.Counts.Total, n, asked[f.Recipe])
				}
				if i == 0 && f.Counts != res.Counts {
					t.Errorf("the headline has %+v, the result %+v", f.Counts, res.Counts)
				}
			}
			if low, high := *res.Panel.Low, *res.Panel.High; low != *res.Panel.Recipes[1].PassRate || high != *res.Panel.Recipes[2].PassRate {
				t.Errorf("the span is %v to %v", low, high)
			}
			rep, err := verify.File(out)
			if err != nil || !rep.OK {
				t.Errorf("%v: %+v", err, rep)
			}
		})
	}
}
