package main

import "evalctl/daemon/setup"

// daemonFlags has the flags that serve and mcp share: how the reference daemon stores, ranks and
// answers.
type daemonFlags struct {
	Store       string `env:"SVC_STORE" default:"" placeholder:"STORE" help:"Storage engine: memory (without a home), fs, git, or the URL of a PostgreSQL database, which any number of daemons share. Default: fs with a home, otherwise memory."`
	ChunkSize   int    `default:"1600" placeholder:"BYTES" help:"Maximum size of the chunks that search ranks, 64 to 8000 letters of one byte, or as many letters of another script (${default}). After a change, indexes are rebuilt."`
	Language    string `placeholder:"CODE" help:"Language of the documents, such as de. Default: that of their front matter, else it is detected for each. After a change, indexes are rebuilt."`
	IndexMemory int64  `default:"1024" placeholder:"MIB" help:"Total memory for the search indexes of idle brains, in MiB (${default}). Evicted indexes are loaded again by the next search."`
	LogFormat   string `enum:"text,json" default:"text" help:"Log format on stderr: ${enum} (${default})."`
	LLMProvider string `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Model provider of the reader: openai, ollama or fake."`
	Model       string `aliases:"llm-model" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model of the reader. The provider is openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai. Without both, the fake reader answers by quoting documents."`
	Private     bool   `name:"allow-private-fetch" help:"Let clients ingest pages of every address that the daemon reaches, this machine and its network included. Without it, only of the public internet."`

	EmbedProvider  string   `name:"embed-provider" env:"SVC_EMBED_PROVIDER" placeholder:"NAME" help:"Embedding provider: openai, ollama or fake. With one, auto mode is hybrid; without, bm25."`
	EmbedModel     string   `name:"embed-model" env:"SVC_EMBED_MODEL" placeholder:"MODEL" help:"Embedding model."`
	EmbedRPS       float64  `name:"embed-rps" default:"0" placeholder:"N" help:"Maximum embedding requests per second; 0 for no limit (${default})."`
	RerankProvider string   `name:"rerank-provider" env:"SVC_RERANK_PROVIDER" placeholder:"NAME" help:"Reranking provider of hybrid-rerank mode: http (a /rerank endpoint) or llm (the provider of the reader)."`
	RerankModel    string   `name:"rerank-model" env:"SVC_RERANK_MODEL" placeholder:"MODEL" help:"Reranking model."`
	Fusion         string   `env:"SVC_FUSION" placeholder:"METHOD" help:"How hybrid mode combines bm25 and semantic: score (by scores, the default) or rrf (by ranks)."`
	FusionWeight   *float64 `env:"SVC_FUSION_WEIGHT" placeholder:"N" help:"Weight of the semantic ranking in hybrid mode, relative to 1 for bm25: above 0, at most 100. Default: 0.3 (0.2 with rrf), or 0.00001 with the fake embedder."`
	Degrade        bool     `help:"If the embedder or reranker fails, search in a simpler mode and report it in the response. Without it, the search fails."`
}

// settings returns the values of the flags.
func (f *daemonFlags) settings() *setup.Settings { return (*setup.Settings)(f) }

// setup returns the process that a daemon is configured in.
func (p *process) setup() setup.From {
	return setup.From{Args: p.args, Env: p.env, Stderr: p.stderr, Version: version().String()}
}
