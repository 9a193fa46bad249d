package setup

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"evalctl/daemon"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

// search opens the models that search uses and prints their names.
func (f *Settings) search(from From, home string, log *slog.Logger) (search.Config, error) {
	cfg := search.Config{Degrade: f.Degrade, Fusion: search.Fusion(f.Fusion)}
	if f.Fusion != "" && !slices.Contains(search.Fusions, cfg.Fusion) {
		return cfg, fmt.Errorf("--fusion %q: must be score or rrf", f.Fusion)
	}
	if w := f.FusionWeight; w != nil {
		if !(*w > 0 && *w <= search.MaxFusionWeight) {
			return cfg, fmt.Errorf("--fusion-weight %v: must be above 0 and at most %d", *w, search.MaxFusionWeight)
		}
		cfg.FusionWeight = *w
	}
	if f.RerankProvider != "" {
		reranker, err := llm.OpenReranker(llm.RerankConfig{
			Provider: f.RerankProvider, Model: f.RerankModel, BaseURL: from.Env("SVC_RERANK_BASE_URL"),
			APIKey: from.Env("SVC_RERANK_API_KEY"), LLM: f.llmConfig(from),
		})
		if err != nil {
			return cfg, err
		}
		cfg.Reranker = reranker
		fmt.Fprintf(from.Stderr, "evalctl: hybrid-rerank mode uses reranker %s\n", reranker.Name())
	}
	if f.EmbedProvider == "" {
		fmt.Fprintln(from.Stderr, "evalctl: SVC_EMBED_PROVIDER is not set: auto mode uses bm25")
		return cfg, nil
	}
	embedder, err := f.embedder(from)
	if err != nil {
		return cfg, err
	}
	cfg.Embedder = embedder
	where := ""
	if f.EmbedProvider != llm.ProviderFake { // the fake is faster than a cache
		cached, err := f.embedCache(embedder, home, log)
		if err != nil {
			return cfg, err
		}
		cfg.Embedder, where = cached, ", cached in "+cmp.Or(f.cachePath(home), "memory")
	}
	run := cfg.HybridFusion()
	fmt.Fprintf(from.Stderr, "evalctl: auto mode uses hybrid, embedder %s%s, fusion %s with weight %v\n",
		embedder.Name(), where, run.Fusion, run.Weight)
	return cfg, nil
}

func (f *Settings) embedder(from From) (llm.Embedder, error) {
	if !(f.EmbedRPS >= 0) {
		return nil, fmt.Errorf("--embed-rps %v: must not be negative; use 0 for no limit", f.EmbedRPS)
	}
	return llm.OpenEmbedder(llm.EmbedConfig{
		Provider: f.EmbedProvider, Model: f.EmbedModel, BaseURL: from.Env("SVC_EMBED_BASE_URL"),
		Source: from.Env("SVC_EMBED_SOURCE"), APIKey: from.Env("SVC_EMBED_API_KEY"), PerSecond: f.EmbedRPS, LLM: f.llmConfig(from),
	})
}

func (f *Settings) embedCache(e llm.Embedder, home string, log *slog.Logger) (*llm.EmbedCache, error) {
	if path := f.cachePath(home); path != "" {
		return llm.OpenEmbedCache(e, path, llm.DefaultCacheBytes, log)
	}
	return llm.NewEmbedCache(e), nil
}

// cachePath returns the folder of the embedding cache, or "" if nothing is stored on disk.
func (f *Settings) cachePath(home string) string {
	if f.EmbedCache != "" {
		return f.EmbedCache
	}
	if home == "" || f.Store == daemon.StoreMemory { // the daemon rejects both together: do not create the home
		return ""
	}
	return filepath.Join(home, "cache", "embeddings")
}
