package setup

import (
	"slices"
	"testing"
)

func TestVariables(t *testing.T) {
	set := map[string]string{"OPENAI_API_KEY": "x", "OLLAMA_HOST": "y", "SVC_EMBED_API_KEY": "z"}
	env := func(name string) string { return set[name] }
	for _, tt := range []struct {
		settings Settings
		want     []string
	}{
		{Settings{}, nil},
		{Settings{Model: "openai/gpt-4o-mini"}, []string{"OPENAI_API_KEY"}},
		{Settings{Model: "gpt-4o-mini"}, []string{"OPENAI_API_KEY"}},
		{Settings{Model: "gpt-4o-mini", LLMProvider: "openai"}, []string{"OPENAI_API_KEY"}},
		{Settings{Model: "ollama/llama3"}, []string{"OLLAMA_HOST"}},
		{Settings{Model: "llama3", LLMProvider: "ollama"}, []string{"OLLAMA_HOST"}},
		{Settings{Model: "fake"}, nil},
		{Settings{Model: "fake", EmbedProvider: "ollama"}, []string{"OLLAMA_HOST", "SVC_EMBED_API_KEY"}},
	} {
		if got := tt.settings.Variables(env); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.settings, got, tt.want)
		}
	}
}
