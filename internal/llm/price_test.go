package llm

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPricesOf(t *testing.T) {
	p := DefaultPrices()
	for _, tt := range []struct {
		provider, model string
		in              USD
		ok              bool
	}{
		{ProviderOpenAI, "gpt-4o", 2_500_000_000, true},
		{ProviderOpenAI, "gpt-4o-2024-08-06", 2_500_000_000, true},
		{ProviderOpenAI, "gpt-4o-2024-05-13", 5_000_000_000, true},
		{ProviderOpenAI, "gpt-4o-mini", 150_000_000, true},
		{ProviderOpenAI, "gpt-4o-mini-2024-07-18", 150_000_000, true},
		{ProviderOpenAI, "gpt-4o-audio-preview", 0, false},
		{ProviderOpenAI, "gpt-4o-2024-13-40", 0, false},
		{ProviderOpenAI, "gpt-5.1", 1_250_000_000, true},
		{ProviderOpenAI, "gpt-5.3", 0, false},
		{ProviderOpenAI, "claude-haiku-4-5-20251001", 1_000_000_000, true},
		{ProviderOpenAI, "claude-haiku-4-5-20251301", 0, false},
		{ProviderOpenAI, "claude-haiku-4-5-latest", 0, false},
		{ProviderOpenAI, "openai/gpt-4o", 0, false},
		{ProviderOpenAI, "gpt-5-chat-latest", 0, false},
		{ProviderOpenAI, "-2024-08-06", 0, false},
		{ProviderOpenAI, "", 0, false},
		{ProviderOllama, "anything", 0, true},
		{ProviderFake, "fake", 0, true},
	} {
		got, ok := p.Of(tt.provider, tt.model)
		if ok != tt.ok || got.Input != tt.in {
			t.Errorf("Of(%s, %s) = %v, %v; want input %v, %v", tt.provider, tt.model, got, ok, tt.in, tt.ok)
		}
	}
	p["gpt-4o"] = Price{}
	if got, _ := DefaultPrices().Of(ProviderOpenAI, "gpt-4o"); got.Input == 0 {
		t.Error("changing one table changed the defaults")
	}
}

func TestParsePrice(t *testing.T) {
	model, price, err := ParsePrice("host/m=v1=2.50/10")
	if err != nil || model != "host/m=v1" || price != (Price{Dollar * 5 / 2, 10 * Dollar}) {
		t.Errorf("got %q, %v, %v", model, price, err)
	}
	for _, in := range []string{"", "m", "=1/2", "m=1", "m=1/", "m=/2", "m=-1/2", "m=1/2/3", "m=NaN/1"} {
		if _, _, err := ParsePrice(in); err == nil || !strings.Contains(err.Error(), "model=in/out") {
			t.Errorf("ParsePrice(%q): %v, want an error that shows the form", in, err)
		}
	}
}

func FuzzParsePrice(f *testing.F) {
	for _, s := range []string{"gpt-4o=2.50/10", "a=b=1/2", "=1/2", "m=1", "m=1/2/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		model, p, err := ParsePrice(s)
		if err == nil && (model == "" || p.Input < 0 || p.Output < 0) {
			t.Errorf("%q: %q %v", s, model, p)
		}
	})
}

// The reference is the same sum in big integers.
func TestCost(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Range(0, 100*int64(Dollar)), rapid.Int64Range(0, math.MaxInt64))
	count := rapid.OneOf(rapid.IntRange(0, 1_000_000), rapid.IntRange(0, math.MaxInt))
	rapid.Check(t, func(t *rapid.T) {
		p := Price{USD(amount.Draw(t, "in")), USD(amount.Draw(t, "out"))}
		u := Usage{InputTokens: count.Draw(t, "inTokens"), OutputTokens: count.Draw(t, "outTokens")}
		sum := new(big.Int).Mul(big.NewInt(int64(p.Input)), big.NewInt(int64(u.InputTokens)))
		sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(p.Output)), big.NewInt(int64(u.OutputTokens))))
		sum.Add(sum, big.NewInt(999_999)).Div(sum, big.NewInt(1_000_000))
		want := USD(math.MaxInt64)
		if sum.IsInt64() {
			want = USD(sum.Int64())
		}
		if got := p.Cost(u); got != want {
			t.Fatalf("cost of %+v at %v is %d, want %d", u, p, got, want)
		}
	})
	if got := (Price{1, 1}).Cost(Usage{InputTokens: 1}); got != 1 {
		t.Errorf("a fraction of a nano-dollar costs %d, want 1", got)
	}
	if got := (Price{Dollar, Dollar}).Cost(Usage{InputTokens: -5, OutputTokens: -5}); got != 0 {
		t.Errorf("negative counts cost %s", got)
	}
}
