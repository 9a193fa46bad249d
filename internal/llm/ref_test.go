package llm

import (
	"strings"
	"testing"

	"evalctl/internal/llm/llmtest"
)

func withEnv(env map[string]string) Env {
	return func(name string) string { return env[name] }
}

func TestParseRef(t *testing.T) {
	for _, tt := range []struct{ byDefault, value, want string }{
		{"", "gpt-4o", "openai/gpt-4o"},
		{"ollama", "llama3.1", "ollama/llama3.1"},
		{"ollama", "openai/gpt-4o", "openai/gpt-4o"},
		{"", "ollama/llama3.1:8b", "ollama/llama3.1:8b"},
		{"", "meta-llama/Llama-3.1-70B", "openai/meta-llama/Llama-3.1-70B"},
		{"", "openai/meta-llama/Llama-3.1-70B", "openai/meta-llama/Llama-3.1-70B"},
		{"openai", "fake", "fake/fake"},
		{"", "fake/fake", "fake/fake"},
		{"fake", "fake", "fake/fake"},
	} {
		got, err := ParseRef(withEnv(map[string]string{"SVC_LLM_PROVIDER": tt.byDefault}), "judge", tt.value)
		if err != nil || got.String() != tt.want {
			t.Errorf("%q with the provider %q: got %s, %v", tt.value, tt.byDefault, got, err)
		}
	}
	for _, tt := range []struct{ byDefault, value, want string }{
		{"", "", "[PROVIDER/]MODEL"},
		{"", "openai/", "[PROVIDER/]MODEL"},
		{"", " gpt-4o", "[PROVIDER/]MODEL"},
		{"fake", "gpt-4o", "only the model fake"},
		{"", "fake/gpt-4o", "only the model fake"},
		{"anthropic", "claude", "SVC_LLM_PROVIDER"},
	} {
		_, err := ParseRef(withEnv(map[string]string{"SVC_LLM_PROVIDER": tt.byDefault}), "judge", tt.value)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q with the provider %q: got %v", tt.value, tt.byDefault, err)
		}
	}
}

// TestJudgeConfig: the judge may have an endpoint and a key of its own, and the other key does not
// go to its endpoint.
func TestJudgeConfig(t *testing.T) {
	const own, ownKey = "https://judge.example/v1", "judge-key"
	base := map[string]string{"OPENAI_BASE_URL": "https://actor.example/v1", "OPENAI_API_KEY": "actor-key", "OLLAMA_HOST": "h:1"}
	for _, tt := range []struct{ url, key, wantURL, wantKey string }{
		{"", "", base["OPENAI_BASE_URL"], "actor-key"},
		{own, "", own, ""},
		{own, ownKey, own, ownKey},
		{"", ownKey, base["OPENAI_BASE_URL"], ownKey},
	} {
		env := map[string]string{JudgeURLVariable: tt.url, JudgeKeyVariable: tt.key}
		for k, v := range base {
			env[k] = v
		}
		ref := Ref{ProviderOpenAI, "gpt-4o"}
		c := ref.JudgeConfig(withEnv(env))
		if c.BaseURL != tt.wantURL || c.APIKey != tt.wantKey || c.PerSecond != judgePerSecond {
			t.Errorf("url %q, key %q: got %+v", tt.url, tt.key, c)
		}
		if reader := ref.Config(withEnv(env)); reader.BaseURL != base["OPENAI_BASE_URL"] || reader.APIKey != "actor-key" {
			t.Errorf("the reader has the judge's endpoint: %+v", reader)
		}
	}
	env := withEnv(map[string]string{"OPENAI_API_KEY": "actor-key", JudgeURLVariable: OpenAIBaseURL})
	_, err := OpenJudge(env, Ref{ProviderOpenAI, "gpt-4o"}.JudgeConfig(env))
	if err == nil || !strings.Contains(err.Error(), JudgeKeyVariable) {
		t.Errorf("got %v", err)
	}
}

// TestJudgeKeyIsNamed: an error for a rejected key names the variable that the key was read
// from.
func TestJudgeKeyIsNamed(t *testing.T) {
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 401} })
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"OPENAI_BASE_URL": srv.URL, "OPENAI_API_KEY": "k"}, "check OPENAI_API_KEY"},
		{map[string]string{"OPENAI_BASE_URL": srv.URL, "OPENAI_API_KEY": "k", JudgeKeyVariable: "j"}, "check " + JudgeKeyVariable},
		{map[string]string{"OPENAI_API_KEY": "k", JudgeURLVariable: srv.URL}, "check " + JudgeKeyVariable},
	} {
		c := Ref{ProviderOpenAI, "gpt-4o"}.JudgeConfig(withEnv(tt.env))
		p, err := OpenJudge(withEnv(tt.env), c)
		if err == nil {
			_, err = p.Complete(t.Context(), ask("gpt-4o", "q"))
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %s", tt.env, err, tt.want)
		}
	}
}

func TestRecordedURL(t *testing.T) {
	for want, c := range map[string]Config{
		"":                       {Provider: ProviderFake, BaseURL: "https://h/v1"},
		OpenAIBaseURL:            {Provider: ProviderOpenAI, OllamaHost: "h"},
		"https://h/v1":           {Provider: ProviderOpenAI, BaseURL: "https://me:s3cret@h/v1?key=s3"},
		"127.0.0.1":              {Provider: ProviderOllama, BaseURL: "https://h/v1"},
		"http://localhost:11434": {Provider: ProviderOllama, OllamaHost: "http://localhost:11434"},
	} {
		if got := RecordedURL(c); got != want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
