package ledger

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// TestBill: a bill adds up to its parts, and a line that was changed, added, removed or cannot be
// is an error with its place.
func TestBill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "go.bill.jsonl")
	var text bytes.Buffer
	w := newBillWriter(&text)
	for _, l := range []result.BillLine{
		{Part: result.PartJudge, Model: "m", Question: "q1", USD: 3}, {Part: result.PartReader, Model: "m", USD: 5, MayHaveUSD: 5},
		{Part: result.PartEmbeddings, Model: "e", USD: 7}, {Part: result.PartDaemon, Model: "m", USD: 11}, {Part: result.PartJudge, Model: "m", Cached: true, SavedUSD: 9},
	} {
		if err := w.add(l); err != nil {
			t.Fatal(err)
		}
	}
	bill := w.bill("go.bill.jsonl")
	open := func(data string, b *result.Bill) (result.CostParts, error) {
		filetest.Write(t, path, data)
		return resultfile.SumBill(b, filepath.Join(dir, "go.json"))
	}
	whole := text.String()
	parts, err := open(whole, bill)
	want := result.CostParts{ReaderUSD: 5, JudgeUSD: 3, EmbeddingsUSD: 7, DaemonUSD: 11, MayHaveUSD: 5}
	if err != nil || parts != want || parts.Total() != llm.USD(26) {
		t.Errorf("%+v, %v", parts, err)
	}
	first, rest, _ := strings.Cut(whole, "\n")
	for name, c := range map[string]struct{ data, want string }{
		"an amount":   {strings.Replace(whole, "0.000000003", "0.000000004", 1), "changed"},
		"one more":    {whole + first + "\n", "changed"},
		"one less":    {rest, "changed"},
		"no part":     {strings.Replace(whole, `"embeddings"`, `"rent"`, 1), `:3: part "rent" is not known`},
		"no JSON":     {"x\n" + rest, ":1: "},
		"an unknown":  {strings.Replace(whole, `"model"`, `"modell"`, 1), ":1: "},
		"below zero":  {strings.Replace(whole, `"usd":0.000000007`, `"usd":-1`, 1), ":3: "},
		"paid, saved": {strings.Replace(whole, `"cached":true`, `"cached":true,"usd":1`, 1), ":5: "},
	} {
		if _, err := open(c.data, bill); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	elsewhere := *bill
	elsewhere.File = "../go.bill.jsonl"
	if _, err := open(whole, &elsewhere); err == nil || !strings.Contains(err.Error(), "in the folder") {
		t.Errorf("a file elsewhere: %v", err)
	}
}
