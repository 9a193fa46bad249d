package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/language"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
)

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
	searchModels
}

// config returns the configuration of a daemon with its data in home, without keys. The caller must
// close the embedding cache, which is the second result.
func (f *daemonFlags) config(p *process, home string, level slog.Level) (daemon.Config, io.Closer, error) {
	var cfg daemon.Config
	if f.IndexMemory <= 0 {
		return cfg, nil, fmt.Errorf("--index-memory %d: must be above 0", f.IndexMemory)
	}
	if f.ChunkSize < search.MinChunkSize || f.ChunkSize > search.MaxChunkSize {
		return cfg, nil, fmt.Errorf("--chunk-size %d: must be from %d to %d", f.ChunkSize, search.MinChunkSize, search.MaxChunkSize)
	}
	spoken := language.Parse(f.Language)
	if f.Language != "" && spoken == language.None {
		return cfg, nil, fmt.Errorf("--language %s: must be one of %s; leave it out for other languages",
			f.Language, strings.Join(language.Codes(), ", "))
	}
	if err := f.checkStore(p, home); err != nil {
		return cfg, nil, err
	}
	reader, model, err := f.reader(p)
	if err != nil {
		return cfg, nil, err
	}
	logger := f.logger(p, level)
	searching, cache, err := f.search(p, home, logger)
	if err != nil {
		return cfg, nil, err
	}
	return daemon.Config{
		Home: home, Store: f.Store, Reader: reader, ReaderModel: model, Logger: logger, AllowPrivateFetch: f.Private,
		IndexConfig: brain.IndexConfig{Search: searching, ChunkSize: f.ChunkSize, Language: spoken, IndexMemory: f.IndexMemory << 20},
		Options:     httpapi.Options{Version: version().String()},
	}, cache, nil
}

// checkStore checks the storage engine.
func (f *daemonFlags) checkStore(p *process, home string) error {
	switch {
	case slices.Contains([]string{"", daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit}, f.Store):
		return nil
	case !postgres.IsURL(f.Store):
		return fmt.Errorf("--store must be %s, %s, %s, or a URL such as postgres://user@host/database",
			daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit)
	case home != "":
		return errors.New("--store postgres://... keeps nothing in a home: unset --home and SVC_HOME")
	}
	return checkDatabaseFlag(p, "--store", "SVC_STORE", f.Store)
}

func (f *daemonFlags) reader(p *process) (llm.Provider, string, error) {
	config := f.llmConfig(p)
	if config.Provider == "" {
		config.Provider = llm.ProviderFake
		fmt.Fprintln(p.stderr, "evalctl: SVC_LLM_PROVIDER is not set: the fake reader answers by quoting documents")
	}
	model := config.Model
	if config.Provider == llm.ProviderFake {
		model = cmp.Or(model, llm.ProviderFake)
	}
	reader, err := llm.Open(config)
	return reader, model, err
}

func (f *daemonFlags) llmConfig(p *process) llm.Config {
	return llm.RefOf(p.env, f.LLMProvider, f.Model).Config(p.env)
}

// logger returns a logger of events of at least the given level.
func (f *daemonFlags) logger(p *process, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.stderr, options))
	}
	return slog.New(slog.NewTextHandler(p.stderr, options))
}
