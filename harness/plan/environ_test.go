package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestWithhold(t *testing.T) {
	environ := []string{
		"PATH=/bin", "SVC_TOKEN=t", "SVC_TOKEN_OTHER=t", "SOME_API_KEY=k", "EMPTY_API_KEY=", "OPENAI_API_KEY=k",
		"OPENAI_BASE_URL=http://h", "OLLAMA_HOST=h", "MINE_API_KEY=a=b",
	}
	env, err := Withhold(environ, []string{"MINE_API_KEY", "EMPTY_API_KEY"}, ProviderVariables("openai", "ollama"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"SOME_API_KEY", "SVC_TOKEN_OTHER"}; !slices.Equal(env.Withheld, want) {
		t.Errorf("withheld %q, want %q", env.Withheld, want)
	}
	if want := []string{"MINE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"}; !slices.Equal(env.Passed, want) {
		t.Errorf("passed %q, want %q", env.Passed, want)
	}
	if _, err := Withhold(environ, []string{"MINE_API"}, nil); err == nil || !strings.Contains(err.Error(), "MINE_API: the variable is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
