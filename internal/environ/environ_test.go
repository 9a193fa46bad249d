package environ

import (
	"slices"
	"strings"
	"testing"

	"evalctl/internal/redact"
)

func TestOf(t *testing.T) {
	parent := []string{
		"PATH=/bin", "LC_TIME=C", "https_proxy=http://p", "NO_PROXY=h", "SystemRoot=w", "OPENAI_API_KEY=k", "GIT_DIR=x", "MINE=1", "SSH_AUTH_SOCK=s", "E=",
	}
	got := Of(parent, []string{"MINE", "MISSING"}, []string{"PATH=/other", "A=b"})
	want := []string{"PATH=/bin", "LC_TIME=C", "https_proxy=http://p", "NO_PROXY=h", "SystemRoot=w", "MINE=1", "PATH=/other", "A=b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if Of(nil, nil, nil) == nil {
		t.Error("a process would inherit everything")
	}
	if got := Withheld(parent, got); got != "OPENAI_API_KEY, and 2 other variables" {
		t.Errorf("withheld %q", got)
	}
	if got := Withheld(parent, parent); got != "" {
		t.Errorf("withheld %q", got)
	}
}

func TestSecrets(t *testing.T) {
	got := Secrets([]string{
		"PATH=/usr/local/bin", "OPENAI_API_KEY=sk-12345678", "SHORT_API_KEY=1234567", "MY_PASSWORD=correct horse", "PGPASSWORD=correct-horse",
		"GITHUB_PAT=github_pat_1", "STRIPE_KEY=sk_live_12", "SVC_SIGN_KEY=/home/a/.ssh/id", "SVC_TOKEN_READONLY=evk_12345",
		"AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/token", "OPENAI_BASE_URL=http://127.0.0.1:8080", "PWD=/work/folder/here",
		"HTTPS_PROXY=http://user:p%40ssw0rd@proxy:8080", "SVC_GIT_REMOTE=https://ghp_123456@github.com/a/b", "DATABASE_URL=postgres://me@host/db",
		"SVC_MAX_TOKENS=100000000", "EMPTY_TOKEN=", "SECRET_KEY_BASE=0123456789abcdef", "OPENAI_API_BASE=http://127.0.0.1:8080", "KNOWLEDGE_BASE=documents",
	})
	want := []redact.Secret{
		{Name: "OPENAI_API_KEY", Value: "sk-12345678"}, {Name: "MY_PASSWORD", Value: "correct horse"}, {Name: "PGPASSWORD", Value: "correct-horse"},
		{Name: "GITHUB_PAT", Value: "github_pat_1"}, {Name: "STRIPE_KEY", Value: "sk_live_12"}, {Name: "SVC_TOKEN_READONLY", Value: "evk_12345"},
		{Name: "HTTPS_PROXY", Value: "p%40ssw0rd"}, {Name: "HTTPS_PROXY", Value: "p@ssw0rd"}, {Name: "SVC_GIT_REMOTE", Value: "ghp_123456"},
		{Name: "SECRET_KEY_BASE", Value: "0123456789abcdef"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", show(got), show(want))
	}
}

func show(secrets []redact.Secret) string {
	var lines []string
	for _, s := range secrets {
		lines = append(lines, s.Name+"="+s.Value)
	}
	return strings.Join(lines, " ")
}
