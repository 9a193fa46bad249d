package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/internal/download"
	"evalctl/internal/llm"
)

// PublishedFile is a published benchmark that can be downloaded by name.
type PublishedFile struct {
	Name, URL string
	Size      int64 // in bytes
	SHA256    string
	Licence   string
	About     string // a phrase
}

// The fixed repository revisions of the files.
const (
	longMemEvalFiles = "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f/"
	locomoFiles      = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data/"
)

var published = []PublishedFile{
	{
		Name: "longmemeval-oracle", URL: longMemEvalFiles + "longmemeval_oracle.json", Size: 15_388_478,
		SHA256:  "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
		Licence: "MIT", About: "500 questions, gold sessions",
	},
	{
		Name: "longmemeval-s", URL: longMemEvalFiles + "longmemeval_s_cleaned.json", Size: 277_383_467,
		SHA256:  "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
		Licence: "MIT", About: "500 questions, ~50 sessions each",
	},
	{
		Name: "longmemeval-m", URL: longMemEvalFiles + "longmemeval_m_cleaned.json", Size: 2_737_100_077,
		SHA256:  "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f",
		Licence: "MIT", About: "500 questions, ~500 sessions each",
	},
	{
		Name: "locomo10", URL: locomoFiles + "locomo10.json", Size: 2_805_274,
		SHA256:  "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
		Licence: "CC BY-NC 4.0", About: "1,986 questions, 10 dialogues",
	},
}

// AllPublished returns the benchmarks that can be downloaded by name.
func AllPublished() []PublishedFile { return slices.Clone(published) }

// findPublished returns the benchmark with this name.
func findPublished(name string) (PublishedFile, error) {
	var names []string
	for _, b := range published {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return PublishedFile{}, fmt.Errorf("unknown benchmark %q: must be one of %s; use --url for other files",
		name, strings.Join(names, ", "))
}

// Fetched completes a benchmark by name, unless it has a URL, and returns the path of its file in
// dir, which it creates. An empty dir means evalctl/datasets in the user's cache folder.
func Fetched(b PublishedFile, dir string) (_ PublishedFile, path string, err error) {
	if b.URL == "" {
		if b, err = findPublished(b.Name); err != nil {
			return b, "", err
		}
	}
	if dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			return b, "", fmt.Errorf("--output: the user has no cache folder, name one: %w", err)
		}
		dir = filepath.Join(dir, "evalctl", "datasets")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, "", fmt.Errorf("--output: %w", err)
	}
	name, err := download.FileName(b.URL)
	if err != nil {
		return b, "", fmt.Errorf("--url %s: %w", llm.WithoutSecrets(b.URL), err)
	}
	return b, filepath.Join(dir, name), nil
}
