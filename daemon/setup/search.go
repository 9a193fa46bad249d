package setup

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"

	"evalctl/daemon"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

// search opens the models that search uses and prints their names. The caller must close the
// embedding cache, which is the second result.
func (f *Settings) search(from From, home string, log *slog.Logger) (search.Config, io.Closer, error) {
	cfg := search.Config{Degrade: f.Degrade, Fusion: search.Fusion(f.Fusion)}
	if f.Fusion != "" && !slices.Contains(search.Fusions, cfg.Fusion) {
		return cfg, nil, fmt.Errorf("--fusion %q: must be score or rrf", f.Fusion)
	}
	if w := f.FusionWeight; w != nil {
		if !(*w > 0 && *w <= search.MaxFusionWeight) {
			return cfg, nil, fmt.Errorf("--fusion-weight %v: must be above 0 and at most %d", *w, search.MaxFusionWeight)
		}
		cfg.FusionWeight = *w
	}
	var cache io.Closer = io.NopCloser(nil) // replaced if there is a cache
	if f.RerankProvider != "" {
		reranker, err := llm.OpenReranker(llm.RerankConfig{
			Provider: f.RerankProvider, Model: f.RerankModel, BaseURL: from.Env("SVC_RERANK_BASE_URL"),
			APIKey: from.Env("SVC_RERANK_API_KEY"), LLM: f.llmConfig(from),
		})
		if err != nil {
			return cfg, nil, err
		}
		cfg.Reranker = reranker
		fmt.Fprintf(from.Stderr, "evalctl: hybrid-rerank mode uses reranker %s\n", reranker.Name())
	}
	if f.EmbedProvider == "" {
		fmt.Fprintln(from.Stderr, "evalctl: SVC_EMBED_PROVIDER is not set: auto mode uses bm25")
		return cfg, cache, nil
	}
	embedder, err := f.embedder(from)
	if err != nil {
		return cfg, nil, err
	}
	cfg.Embedder = embedder
	where := ""
	if f.EmbedProvider != llm.ProviderFake { // the fake is faster than a cache
		cached, err := f.embedCache(embedder, home, log)
		if err != nil {
			return cfg, nil, err
		}
		cfg.Embedder, cache, where = cached, cached, ", cached in "+cmp.Or(f.cachePath(home), "memory")
	}
	run := cfg.HybridFusion()
	fmt.Fprintf(from.Stderr, "evalctl: auto mode uses hybrid, embedder %s%s, fusion %s with weight %v\n",
		embedder.Name(), where, run.Fusion, run.Weight)
	return cfg, cache, nil
}

func (f *Settings) embedder(from From) (llm.Embedder, error) {
	if !(f.EmbedRPS >= 0) {
		return nil, fmt.Errorf("--embed-rps %v: must not be negative; 0 is no limit", f.EmbedRPS)
	}
	return llm.OpenEmbedder(llm.EmbedConfig{
		Provider: f.EmbedProvider, Model: f.EmbedModel, BaseURL: from.Env("SVC_EMBED_BASE_URL"),
		APIKey: from.Env("SVC_EMBED_API_KEY"), PerSecond: f.EmbedRPS, LLM: f.llmConfig(from),
	})
}

func (f *Settings) embedCache(e llm.Embedder, home string, log *slog.Logger) (*llm.EmbedCache, error) {
	if path := f.cachePath(home); path != "" {
		return llm.OpenEmbedCache(e, path, log)
	}
	return llm.NewEmbedCache(e), nil
}

// cachePath returns the file of the embedding cache, or "" if nothing is stored on disk.
func (f *Settings) cachePath(home string) string {
	if home == "" || f.Store == daemon.StoreMemory { // the daemon rejects both together: do not create the home
		return ""
	}
	return filepath.Join(home, "cache", "embeddings.db")
}
