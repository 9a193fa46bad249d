package setup

import (
	"slices"

	"evalctl/internal/llm"
)

// Variables returns the names of the variables that are set and that the settings need, including
// API keys.
func (f *Settings) Variables(env func(string) string) []string {
	var names []string
	providers := []string{llm.RefOf(env, f.LLMProvider, f.Model).Provider, f.EmbedProvider}
	if slices.Contains(providers, llm.ProviderOpenAI) {
		names = append(names, Given(env, "OPENAI_API_KEY", "OPENAI_BASE_URL")...)
	}
	if slices.Contains(providers, llm.ProviderOllama) {
		names = append(names, Given(env, "OLLAMA_HOST")...)
	}
	if f.EmbedProvider != "" {
		names = append(names, Given(env, "SVC_EMBED_API_KEY", "SVC_EMBED_BASE_URL", "SVC_EMBED_SOURCE")...)
	}
	if f.RerankProvider != "" {
		names = append(names, Given(env, "SVC_RERANK_API_KEY", "SVC_RERANK_BASE_URL")...)
	}
	return names
}

// Given returns the names of the variables that are set.
func Given(env func(string) string, names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return env(n) == "" })
}
