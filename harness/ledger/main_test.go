package ledger_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const model = "gpt-4o"

var started = time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)

// create returns an empty ledger in a new folder. The test must close it.
func create(tb testing.TB, limit *llm.USD) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Create(filepath.Join(tb.TempDir(), "replay.ledger"), json.RawMessage(`{"seed":7}`), started, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func reopen(tb testing.TB, path string) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func closed(tb testing.TB, l *ledger.Ledger) {
	tb.Helper()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
}

func reserve(tb testing.TB, a llm.Account, worst llm.USD) func(llm.Charge) {
	tb.Helper()
	settle, err := a.Reserve(tb.Context(), model, worst)
	if err != nil {
		tb.Fatal(err)
	}
	return settle
}

// metered returns p with every request counted for a phase of an arm.
func metered(l *ledger.Ledger, p llm.Provider, prices llm.Prices, phase ledger.Phase, arm string) (*llm.Meter, error) {
	return llm.NewAccountMeter(p, prices, l.Account(phase, arm))
}

// addsUp fails unless the parts of every accounting add up, and the arms to all of them together.
func addsUp(tb fataler, l *ledger.Ledger, arms ...string) {
	tb.Helper()
	var ofArms llm.USD
	for _, arm := range append([]string{""}, arms...) {
		c := l.Accounting(arm)
		if sum := c.IngestUSD + c.ActorUSD + c.JudgeUSD + c.EmbedUSD; sum != c.TotalUSD {
			tb.Fatalf("arm %q: parts of %s, total %s", arm, sum, c.TotalUSD)
		}
		var ofModels llm.USD
		for _, t := range c.Tokens {
			ofModels += t.USD
		}
		if ofModels != c.TotalUSD || c.LostUSD > c.TotalUSD {
			tb.Fatalf("arm %q: models %s, total %s, lost %s", arm, ofModels, c.TotalUSD, c.LostUSD)
		}
		if arm != "" {
			ofArms += c.TotalUSD
		}
	}
	if total := l.Accounting("").TotalUSD; total != l.Spent() || len(arms) > 0 && total != ofArms {
		tb.Fatalf("total %s, spent %s, arms %s", total, l.Spent(), ofArms)
	}
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}
