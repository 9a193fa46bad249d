//go:build unix

package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/redact"
)

// TestWithheldIsNamed: a daemon that does not start may have needed a variable that it did not get.
func TestWithheldIsNamed(t *testing.T) {
	e := newTestEnv(t)
	t.Setenv("VENDOR_API_KEY", "sk-caller")
	_, err := Start(t.Context(), e.profile("crash"), e.opts)
	wantError(t, err, "withheld from it: ", "VENDOR_API_KEY", "--daemon-env NAME passes a variable on")
}

// TestStartedEnvironment: a process gets what every program needs, what is passed, and what its
// profile sets, and nothing else. Nor can it read more in the environment of its parent.
func TestStartedEnvironment(t *testing.T) {
	e := newTestEnv(t)
	t.Setenv("LAUNCH_TEST_API_KEY", "sk-caller")
	t.Setenv("LAUNCH_TEST_BASE_URL", "http://caller")
	t.Setenv("LAUNCH_TEST_OTHER", "caller")
	t.Setenv("LAUNCH_TEST_PASSED", "passed")
	t.Setenv("LC_TEST", "locale")
	file := filepath.Join(t.TempDir(), "env")
	p := e.profile("")
	p.Command = []string{"sh", "-c", `env >"$2"; tr '\0' '\n' </proc/$PPID/environ >>"$2"; exec "$0" role:healthy "$1"`, e.self, "{addr}", file}
	p.Env = append(p.Env, "LAUNCH_TEST_BASE_URL=http://gateway")
	p.Passed = []string{"LAUNCH_TEST_PASSED", "LAUNCH_TEST_MISSING"}
	d := e.start(t, p)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + string(data)
	for _, want := range []string{
		"\nLAUNCH_TEST_PASSED=passed\n", "\nLAUNCH_TEST_BASE_URL=http://gateway\n", "\nPATH=" + os.Getenv("PATH") + "\n", "\nLC_TEST=locale\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "caller") {
		t.Errorf("the process gets what is not passed: %s", got)
	}
	if w := d.Withheld(); !strings.Contains(w, "LAUNCH_TEST_API_KEY") || strings.Contains(w, "PATH") {
		t.Errorf("withheld %s", w)
	}
}

// TestLogHasNoSecrets: neither the log nor an error has a secret that a daemon writes, also in
// parts.
func TestLogHasNoSecrets(t *testing.T) {
	e := newTestEnv(t)
	e.opts.Secrets = []redact.Secret{{Name: "A_KEY", Value: "sk-12345678"}}
	p := e.profile("")
	p.Command = []string{"sh", "-c", `printf 'the key sk-1234'; sleep .1; printf '5678 and c2stMTIzNDU2Nzg='; exit 3`, "{addr}"}
	_, err := Start(t.Context(), p, e.opts)
	wantError(t, err, "the key [A_KEY] and [A_KEY]g=")
	data, readErr := os.ReadFile(e.opts.LogPath)
	if readErr != nil || strings.Contains(err.Error()+string(data), "12345") {
		t.Errorf("%v %v: %s", readErr, err, data)
	}
}
