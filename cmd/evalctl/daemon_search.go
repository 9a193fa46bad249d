package main

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

// searchModels has the flags for the models that search uses.
type searchModels struct {
	EmbedProvider  string   `name:"embed-provider" env:"SVC_EMBED_PROVIDER" placeholder:"NAME" help:"Embedding provider: openai, ollama or fake. With one, auto mode is hybrid; without, bm25."`
	EmbedModel     string   `name:"embed-model" env:"SVC_EMBED_MODEL" placeholder:"MODEL" help:"Embedding model."`
	EmbedRPS       float64  `name:"embed-rps" default:"0" placeholder:"N" help:"Maximum embedding requests per second; 0 for no limit (${default})."`
	RerankProvider string   `name:"rerank-provider" env:"SVC_RERANK_PROVIDER" placeholder:"NAME" help:"Reranking provider of hybrid-rerank mode: http (a /rerank endpoint) or llm (the provider of the reader)."`
	RerankModel    string   `name:"rerank-model" env:"SVC_RERANK_MODEL" placeholder:"MODEL" help:"Reranking model."`
	Fusion         string   `env:"SVC_FUSION" placeholder:"METHOD" help:"How hybrid mode combines bm25 and semantic: score (by scores, the default) or rrf (by ranks)."`
	FusionWeight   *float64 `env:"SVC_FUSION_WEIGHT" placeholder:"N" help:"Weight of the semantic ranking in hybrid mode, relative to 1 for bm25: above 0, at most 100. Default: 0.3 (0.2 with rrf), or 0.00001 with the fake embedder."`
	Degrade        bool     `help:"If the embedder or reranker fails, search in a simpler mode and report it in the response. Without it, the search fails."`
}

// search opens the models that search uses and prints their names. The caller must close the
// embedding cache, which is the second result.
func (f *daemonFlags) search(p *process, home string, log *slog.Logger) (search.Config, io.Closer, error) {
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
			Provider: f.RerankProvider, Model: f.RerankModel, BaseURL: p.env("SVC_RERANK_BASE_URL"),
			APIKey: p.env("SVC_RERANK_API_KEY"), LLM: f.llmConfig(p),
		})
		if err != nil {
			return cfg, nil, err
		}
		cfg.Reranker = reranker
		fmt.Fprintf(p.stderr, "evalctl: hybrid-rerank mode uses reranker %s\n", reranker.Name())
	}
	if f.EmbedProvider == "" {
		fmt.Fprintln(p.stderr, "evalctl: SVC_EMBED_PROVIDER is not set: auto mode uses bm25")
		return cfg, cache, nil
	}
	embedder, err := f.embedder(p)
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
	fmt.Fprintf(p.stderr, "evalctl: auto mode uses hybrid, embedder %s%s, fusion %s with weight %v\n",
		embedder.Name(), where, run.Fusion, run.Weight)
	return cfg, cache, nil
}

func (f *daemonFlags) embedder(p *process) (llm.Embedder, error) {
	if !(f.EmbedRPS >= 0) {
		return nil, fmt.Errorf("--embed-rps %v: must not be negative; 0 is no limit", f.EmbedRPS)
	}
	return llm.OpenEmbedder(llm.EmbedConfig{
		Provider: f.EmbedProvider, Model: f.EmbedModel, BaseURL: p.env("SVC_EMBED_BASE_URL"),
		APIKey: p.env("SVC_EMBED_API_KEY"), PerSecond: f.EmbedRPS, LLM: f.llmConfig(p),
	})
}

func (f *daemonFlags) embedCache(e llm.Embedder, home string, log *slog.Logger) (*llm.EmbedCache, error) {
	if path := f.cachePath(home); path != "" {
		return llm.OpenEmbedCache(e, path, log)
	}
	return llm.NewEmbedCache(e), nil
}

// cachePath returns the file of the embedding cache, or "" if nothing is stored on disk.
func (f *daemonFlags) cachePath(home string) string {
	if home == "" || f.Store == daemon.StoreMemory { // the daemon rejects both together: do not create the home
		return ""
	}
	return filepath.Join(home, "cache", "embeddings.db")
}
