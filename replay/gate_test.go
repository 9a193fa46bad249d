package replay

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// TestCompletionModel: a gateway to OpenAI does not give a request the model of another provider.
func TestCompletionModel(t *testing.T) {
	for provider, want := range map[string]string{llm.ProviderOpenAI: "m", llm.ProviderOllama: "r", llm.ProviderFake: "r"} {
		a := Arm{Reader: &result.ModelID{Provider: provider, Model: "m"}, Reranker: "r"}
		if got := a.completionModel(); got != want {
			t.Errorf("%s: %q, want %q", provider, got, want)
		}
	}
}
