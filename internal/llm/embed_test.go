package llm

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/internal/llm/llmtest"
)

func TestOpenEmbedder(t *testing.T) {
	for _, tt := range []struct {
		config    EmbedConfig
		name, url string
	}{
		{EmbedConfig{Provider: "fake"}, "fake/hashed-ngrams-1024-v1", ""},
		{EmbedConfig{Provider: "openai", Model: "m", APIKey: "k"}, "openai/m", "https://api.openai.com/v1/embeddings"},
		{EmbedConfig{Provider: "openai", Model: "m", LLM: Config{APIKey: "k"}}, "openai/m", "https://api.openai.com/v1/embeddings"},
		{EmbedConfig{Provider: "openai", Model: "m", BaseURL: "http://box:1/v1/"}, "openai/m@http://box:1/v1", "http://box:1/v1/embeddings"},
		{EmbedConfig{Provider: "openai", Model: "m", LLM: Config{BaseURL: "http://box:1/v1/"}}, "openai/m@http://box:1/v1", "http://box:1/v1/embeddings"},
		{EmbedConfig{Provider: "ollama", Model: "m"}, "ollama/m", "http://127.0.0.1:11434/v1/embeddings"},
		{EmbedConfig{Provider: "ollama", Model: "m", LLM: Config{OllamaHost: "box"}}, "ollama/m@http://box:11434/v1", "http://box:11434/v1/embeddings"},
	} {
		e, err := OpenEmbedder(tt.config)
		if err != nil {
			t.Errorf("%+v: %v", tt.config, err)
			continue
		}
		url := ""
		if o, ok := e.(*openAIEmbedder); ok {
			url = o.url
		}
		if e.Name() != tt.name || url != tt.url {
			t.Errorf("%+v: %s at %s, want %s at %s", tt.config, e.Name(), url, tt.name, tt.url)
		}
	}
}

func TestOpenEmbedderRefuses(t *testing.T) {
	for _, tt := range []struct {
		config EmbedConfig
		has    string
	}{
		{EmbedConfig{}, "set SVC_EMBED_PROVIDER to openai, ollama or fake"},
		{EmbedConfig{Provider: "bert"}, `unknown embedding provider "bert"`},
		{EmbedConfig{Provider: "openai", APIKey: secret}, "SVC_EMBED_MODEL"},
		{EmbedConfig{Provider: "openai", Model: "m"}, "SVC_EMBED_BASE_URL"},
		{EmbedConfig{Provider: "openai", Model: "m", BaseURL: "https://" + secret + "@box/v1"}, "must not contain a user or password"},
	} {
		if _, err := OpenEmbedder(tt.config); err == nil || !strings.Contains(err.Error(), tt.has) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v, want %q", tt.config, err, tt.has)
		}
	}
}

// TestEmbedKeys: only the reader's server is sent the reader's key.
func TestEmbedKeys(t *testing.T) {
	const reader, own = "sk-reader", "sk-own"
	for _, tt := range []struct {
		readerURL, embedURL, ownKey string
		want, variable              string
	}{
		{"", "", "", reader, "OPENAI_API_KEY"},
		{"", "https://api.openai.com/v1", "", reader, "OPENAI_API_KEY"},
		{"", "https://API.openai.com:443/v2/", "", reader, "OPENAI_API_KEY"},
		{"", "http://api.openai.com/v1", "", "", "SVC_EMBED_API_KEY"},
		{"", "http://api.openai.com:443/v1", "", "", "SVC_EMBED_API_KEY"},
		{"", "https://api.openai.com.evil.test/v1", "", "", "SVC_EMBED_API_KEY"},
		{"", "https://api.openai.com:8443/v1", "", "", "SVC_EMBED_API_KEY"},
		{"", "http://127.0.0.1:8080/v1", "", "", "SVC_EMBED_API_KEY"},
		{"", "http://127.0.0.1:8080/v1", own, own, "SVC_EMBED_API_KEY"},
		{"https://box.test/v1", "", "", reader, "OPENAI_API_KEY"},
		{"https://box.test/v1", "https://box.test/embed", "", reader, "OPENAI_API_KEY"},
		{"https://box.test/v1", "https://box.test/embed", own, own, "SVC_EMBED_API_KEY"},
		{"https://box.test/v1", "https://other.test/v1", "", "", "SVC_EMBED_API_KEY"},
		{"http://[::1]:80/v1", "http://[::1]/v1", "", reader, "OPENAI_API_KEY"},
	} {
		e, err := OpenEmbedder(EmbedConfig{
			Provider: "openai", Model: "m", BaseURL: tt.embedURL, APIKey: tt.ownKey, LLM: Config{BaseURL: tt.readerURL, APIKey: reader},
		})
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if o := e.(*openAIEmbedder); o.key != tt.want || o.keyVar != tt.variable {
			t.Errorf("%+v: key %s of %s", tt, o.key, o.keyVar)
		}
	}
	_, err := OpenEmbedder(EmbedConfig{
		Provider: "openai", Model: "m", BaseURL: OpenAIBaseURL, LLM: Config{BaseURL: "https://proxy.test/v1", APIKey: reader},
	})
	if err == nil || !strings.Contains(err.Error(), "set SVC_EMBED_API_KEY") {
		t.Errorf("a proxy's key for OpenAI: %v", err)
	}
}

// The key is checked on the wire, and the error for a rejected key names its source.
func TestEmbedKeyOnTheWire(t *testing.T) {
	for _, own := range []string{"", secret} {
		srv := llmtest.NewServer(t, llmtest.Script(llmtest.Reply{Status: 401}))
		e, err := OpenEmbedder(EmbedConfig{Provider: "openai", Model: "m", BaseURL: srv.URL, APIKey: own, LLM: Config{APIKey: "sk-reader"}})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if own != "" {
			want = "Bearer " + own
		}
		_, err = e.Embed(t.Context(), []string{"a"})
		if got := srv.Calls()[0].Header.Get("Authorization"); got != want || err == nil || !strings.Contains(err.Error(), "check SVC_EMBED_API_KEY") {
			t.Errorf("sent %q, %v", got, err)
		}
	}
}

func TestBatches(t *testing.T) {
	long := strings.Repeat("x", 3*maxModelText) // counts with its length after the cut
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
		{[]string{long, long, "a"}, 9, 2 * maxModelText, [][2]int{{0, 2}, {2, 3}}},
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
		if len(got) != min(len(text), len(got)) || len(got) > maxModelText || len(got) < min(len(text), maxModelText-3) {
			rt.Fatalf("%d bytes of %d", len(got), len(text))
		}
	})
}
