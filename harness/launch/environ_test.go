//go:build unix

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
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
	data := filetest.Read(t, file)
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

// TestOwnHome: a process has the folders of a user of its own, and finds the tools of the caller's
// user. What is passed on by name stays the caller's.
func TestOwnHome(t *testing.T) {
	e := newTestEnv(t)
	caller, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	if err := os.MkdirAll(filepath.Join(caller, ".cache/uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", caller)
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_DATA_HOME", "UV_CACHE_DIR", "npm_config_cache", "PYENV_ROOT"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_STATE_HOME", caller)
	t.Setenv("XDG_CONFIG_HOME", caller)
	t.Setenv("GOPATH", "/go")
	e.opts.Home, e.opts.SelfContained, e.opts.Downloads = own, true, filepath.Join(own, "downloads")
	p := e.profile("")
	file := filepath.Join(t.TempDir(), "env")
	p.Command = []string{"sh", "-c", `{ pwd; env; } >"$2"; exec "$0" role:healthy "$1"`, e.self, "{addr}", file}
	p.Passed = []string{"XDG_STATE_HOME"}
	e.start(t, p)
	data := filetest.Read(t, file)
	got := "\n" + string(data)
	for _, want := range []string{
		"\n" + own + "/work\n", "\nHOME=" + own + "\n", "\nUSERPROFILE=" + own + "\n", "\nTMPDIR=" + own + "/tmp\n", "\nXDG_CONFIG_HOME=" + own + "/.config\n",
		"\nXDG_RUNTIME_DIR=" + own + "/.run\n", "\nnpm_config_cache=" + own + "/downloads/npm_config_cache\n", "\nUV_CACHE_DIR=" + caller + "/.cache/uv\n", "\nGOPATH=/go\n",
		"\nXDG_STATE_HOME=" + caller + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "PYENV_ROOT") {
		t.Errorf("a folder that is not there is named: %s", got)
	}
	if info, err := os.Stat(filepath.Join(own, "tmp")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the temporary folder: %v, %v", info, err)
	}
}

// TestFromHere: files are named from the caller's working folder, wherever the command works.
func TestFromHere(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "environ_test.go", "testdata", "./testdata", "--file=./environ_test.go", "name=./environ_test.go", "missing.go", "@scope/name", "/etc/hosts")
	if err := fromHere(cmd); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sh", here + "/environ_test.go", "testdata", here + "/testdata", "--file=" + here + "/environ_test.go", "name=./environ_test.go", "missing.go", "@scope/name", "/etc/hosts",
	}
	if !slices.Equal(cmd.Args, want) {
		t.Errorf("got %q, want %q", cmd.Args, want)
	}
}
