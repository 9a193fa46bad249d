package llm

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOpenEmbedder(t *testing.T) {
	for _, tt := range []struct {
		config    Config
		name, url string
	}{
		{Config{Provider: "fake"}, "fake/hashed-ngrams-1024-v1", ""},
		{Config{Provider: "openai", Model: "m", APIKey: "k"}, "openai/m", "https://api.openai.com/v1/embeddings"},
		{Config{Provider: "openai", Model: "m", BaseURL: "http://box:1/v1/"}, "openai/m@http://box:1/v1", "http://box:1/v1/embeddings"},
		{Config{Provider: "ollama", Model: "m"}, "ollama/m", "http://127.0.0.1:11434/v1/embeddings"},
		{Config{Provider: "ollama", Model: "m", OllamaHost: "box"}, "ollama/m@http://box:11434/v1", "http://box:11434/v1/embeddings"},
	} {
		e, err := OpenEmbedder(tt.config)
		if err != nil {
			t.Errorf("%+v: %v", tt.config, err)
			continue
		}
		url := ""
		if o, ok := e.(*OpenAIEmbedder); ok {
			url = o.url
		}
		if e.Name() != tt.name || url != tt.url {
			t.Errorf("%+v: %s at %s, want %s at %s", tt.config, e.Name(), url, tt.name, tt.url)
		}
	}
}

func TestOpenEmbedderRefuses(t *testing.T) {
	for _, tt := range []struct {
		config Config
		has    string
	}{
		{Config{}, "set SVC_EMBED_PROVIDER to openai, ollama or fake"},
		{Config{Provider: "bert"}, `unknown embedding provider "bert"`},
		{Config{Provider: "openai", APIKey: secret}, "SVC_EMBED_MODEL"},
		{Config{Provider: "openai", Model: "m"}, "SVC_EMBED_BASE_URL"},
		{Config{Provider: "openai", Model: "m", BaseURL: "https://" + secret + "@box/v1"}, "credentials"},
	} {
		if _, err := OpenEmbedder(tt.config); err == nil || !strings.Contains(err.Error(), tt.has) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v, want %q", tt.config, err, tt.has)
		}
	}
}

func TestBatches(t *testing.T) {
	long := strings.Repeat("x", 3*MaxModelText) // counts as what is left of it
	for _, tt := range []struct {
		texts       []string
		count, size int
		want        [][2]int
	}{
		{nil, 2, 10, nil},
		{[]string{"a"}, 2, 10, [][2]int{{0, 1}}},
		{[]string{"a", "b", "c", "d", "e"}, 2, 10, [][2]int{{0, 2}, {2, 4}, {4, 5}}},
		{[]string{"aaaaa", "bbbbb", "c"}, 9, 10, [][2]int{{0, 2}, {2, 3}}},
		{[]string{"aaaaaaaaaaaaaaa", "b"}, 9, 10, [][2]int{{0, 1}, {1, 2}}},
		{[]string{"", "", ""}, 9, 10, [][2]int{{0, 3}}},
		{[]string{long, long, "a"}, 9, 2 * MaxModelText, [][2]int{{0, 2}, {2, 3}}},
	} {
		var got [][2]int
		for start, end := range batches(tt.texts, tt.count, tt.size) {
			got = append(got, [2]int{start, end})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.60q: %s", tt.texts, diff)
		}
	}
}

func TestCutText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		unit := rapid.SampledFrom([]string{"a", "é", "日", "🙂"}).Draw(rt, "unit")
		text := strings.Repeat("x", rapid.IntRange(0, 3).Draw(rt, "offset")) + strings.Repeat(unit, rapid.IntRange(0, 9000).Draw(rt, "n"))
		got := cutText(text)
		if !strings.HasPrefix(text, got) || !utf8.ValidString(got) {
			rt.Fatalf("not a whole prefix: %d bytes", len(got))
		}
		if len(got) != min(len(text), len(got)) || len(got) > MaxModelText || len(got) < min(len(text), MaxModelText-3) {
			rt.Fatalf("%d bytes of %d", len(got), len(text))
		}
	})
}
