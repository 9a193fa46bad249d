// Package setup makes the configuration of a reference daemon from flags and variables: its models,
// embedding cache, storage, keys, repositories and address. Errors name the flags.
package setup

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
	"evalctl/daemon/search/document"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
)

// Settings configure how a daemon stores, ranks and answers. Each is the value of the flag of its
// name; the help of evalctl serve describes them.
type Settings struct {
	Store       string
	ChunkSize   int // in bytes
	Language    string
	IndexMemory int64 // in MiB
	LogFormat   string
	LLMProvider string
	Model       string
	Private     bool // --allow-private-fetch

	EmbedProvider  string
	EmbedModel     string
	EmbedRPS       float64
	EmbedCache     string // a folder
	RerankProvider string
	RerankModel    string
	Fusion         string
	FusionWeight   *float64
	Degrade        bool
}

// Empty returns the flags that may be without a value. With a memory store, an empty home overrides
// SVC_HOME.
func (f *Settings) Empty() []string {
	if f.Store == daemon.StoreMemory {
		return []string{"home"}
	}
	return nil
}

// From is the process that a daemon is configured in.
type From struct {
	Args    []string                 // to find secrets in
	Env     func(name string) string // addresses and keys of model providers
	Stderr  io.Writer                // which models are used, and the log
	Version string
}

// Daemon returns the configuration of a daemon with its data in home, without keys.
func (f *Settings) Daemon(from From, home string, level slog.Level) (daemon.Config, error) {
	var cfg daemon.Config
	if f.IndexMemory <= 0 {
		return cfg, fmt.Errorf("--index-memory %d: must be above 0", f.IndexMemory)
	}
	if f.ChunkSize < document.MinChunkSize || f.ChunkSize > document.MaxChunkSize {
		return cfg, fmt.Errorf("--chunk-size %d: must be from %d to %d", f.ChunkSize, document.MinChunkSize, document.MaxChunkSize)
	}
	spoken := language.Parse(f.Language)
	if f.Language != "" && spoken == language.None {
		return cfg, fmt.Errorf("--language %s: must be one of %s; leave it out for other languages",
			f.Language, strings.Join(language.Codes(), ", "))
	}
	if err := f.checkStore(from, home); err != nil {
		return cfg, err
	}
	reader, model, err := f.reader(from)
	if err != nil {
		return cfg, err
	}
	logger := f.NewLogger(from.Stderr, level)
	searching, err := f.search(from, home, logger)
	if err != nil {
		return cfg, err
	}
	return daemon.Config{
		Home: home, Store: f.Store, Reader: reader, ReaderModel: model, Logger: logger, AllowPrivateFetch: f.Private,
		IndexConfig: brain.IndexConfig{Search: searching, ChunkSize: f.ChunkSize, Language: spoken, IndexMemory: f.IndexMemory << 20},
		Options:     httpapi.Options{Version: from.Version},
	}, nil
}

// checkStore checks the storage engine.
func (f *Settings) checkStore(from From, home string) error {
	switch {
	case slices.Contains([]string{"", daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit}, f.Store):
		return nil
	case !postgres.IsURL(f.Store):
		return fmt.Errorf("--store must be %s, %s, %s, or a URL such as postgres://user@host/database",
			daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit)
	case home != "":
		return errors.New("--store postgres://... keeps nothing in a home: unset --home and SVC_HOME")
	}
	return postgres.CheckFlag(f.Store, "--store", "SVC_STORE", from.Args, from.Env)
}

func (f *Settings) reader(from From) (llm.Provider, string, error) {
	config := f.llmConfig(from)
	if config.Provider == "" {
		config.Provider = llm.ProviderFake
		fmt.Fprintln(from.Stderr, "evalctl: SVC_LLM_PROVIDER is not set: the fake reader answers by quoting documents")
	}
	model := config.Model
	if config.Provider == llm.ProviderFake {
		model = cmp.Or(model, llm.ProviderFake)
	}
	reader, err := llm.Open(config)
	return reader, model, err
}

func (f *Settings) llmConfig(from From) llm.Config {
	return llm.RefOf(from.Env, f.LLMProvider, f.Model).Config(from.Env)
}

// NewLogger returns a logger of events of at least the given level.
func (f *Settings) NewLogger(stderr io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	return slog.New(slog.NewTextHandler(stderr, options))
}

// Origins checks the origins whose web pages may use the daemon, and returns them as browsers send them.
func Origins(given []string) (all []string, err error) {
	for _, text := range given {
		origin, err := httpapi.ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		all = append(all, origin)
	}
	return all, nil
}
