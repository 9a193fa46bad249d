//go:build unix

package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLooksSecret(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "anthropic_api_key", "UNHEARD_OF_API_KEY", "OPENAI_API_KEY_2", "API_KEY",
		"MYVENDOR_APIKEY", "OPENAI_KEY", "AZURE_OPENAI_KEY", "ANTHROPIC_AUTH_TOKEN", "HF_TOKEN", "GITHUB_TOKEN", "TOKEN",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "VENDOR_CLIENT_SECRET", "SVC_EVAL_JUDGE_API_KEY",
		"OPENAI_BASE_URL", "OPENAI_API_BASE", "Ollama_Host", "ANTHROPIC_BASE_URL", "AZURE_OPENAI_ENDPOINT", "VLLM_URL",
	} {
		if !LooksSecret(name) {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{
		"", "PATH", "HOME", "LANG", "TMPDIR", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "PGHOST", "PGPASSWORD", "REDIS_URL",
		"DATABASE_URL", "DB_HOST", "TOKENIZERS_PARALLELISM", "SVC_MAX_TOKENS", "OPENAI_MODEL", "OPENAI_MAX_TOKENS", "GPG_KEY",
		"SVC_SIGN_KEY", "SVC_LLM_MODEL", "SVC_LLM_PROVIDER", "SVC_EMBED_BASE_URL", "SVC_TOKEN_READONLY", "HTTPS_PROXY", "AWS_REGION",
	} {
		if LooksSecret(name) {
			t.Errorf("%s is withheld", name)
		}
	}
}

// TestWithheldIsNamed: a daemon that does not start may have needed what was withheld.
func TestWithheldIsNamed(t *testing.T) {
	e := newTestEnv(t)
	p := e.profile("crash")
	p.Withheld = []string{"NPM_TOKEN", "VENDOR_API_KEY"}
	_, err := Start(t.Context(), p, e.opts)
	wantError(t, err, "withheld from it: NPM_TOKEN, VENDOR_API_KEY")
}

// TestWithheld: a process gets none of the variables that are withheld, except those that its
// profile sets itself.
func TestWithheld(t *testing.T) {
	e := newTestEnv(t)
	t.Setenv("LAUNCH_TEST_API_KEY", "sk-caller")
	t.Setenv("LAUNCH_TEST_BASE_URL", "http://caller")
	t.Setenv("LAUNCH_TEST_OTHER", "kept")
	file := filepath.Join(t.TempDir(), "env")
	p := e.profile("")
	p.Command = []string{"sh", "-c", `env >"$2"; exec "$0" role:healthy "$1"`, e.self, "{addr}", file}
	p.Env = append(p.Env, "LAUNCH_TEST_BASE_URL=http://gateway")
	p.Withheld = []string{"LAUNCH_TEST_API_KEY", "LAUNCH_TEST_BASE_URL", "LAUNCH_TEST_MISSING"}
	e.start(t, p)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + string(data)
	for _, want := range []string{"\nLAUNCH_TEST_OTHER=kept\n", "\nLAUNCH_TEST_BASE_URL=http://gateway\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "caller") {
		t.Errorf("the process gets what is withheld: %s", got)
	}
}
