//go:build unix

// Package scripts_test tests the scripts with the programs that they run.
package scripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evalctl/internal/porttest"
	"evalctl/internal/programtest"
)

// build builds evalctl once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "evalctl-scripts-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "evalctl")
	return path, programtest.Build(path)
})

func TestMain(m *testing.M) {
	runStub()
	code := m.Run()
	if path, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// rig is a folder with a dataset, and what tri-sdk.sh is run with.
type rig struct {
	dir  string
	port int
	env  []string
}

// questions is the number of questions of the dataset.
const questions = 24

// daemons is the folder of the daemons in other languages.
const daemons = "../harness/launch/testdata"

// newRig returns a rig with the daemons of Node and Python, and skips the test without these.
func newRig(t *testing.T) *rig {
	t.Helper()
	for _, program := range []string{"bash", "node", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	evalctl, err := build()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(daemons)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{dir: t.TempDir(), port: porttest.Free(t, 3)}
	r.env = []string{
		"EVALCTL=" + evalctl, "PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TMPDIR=" + t.TempDir(),
		"SVC_SDK_TS_CMD=node daemon.mjs serve --addr {addr}", "SVC_SDK_TS_DIR=" + filepath.Join(root, "node"),
		"SVC_SDK_PY_CMD=python3 daemon.py serve --addr {addr}", "SVC_SDK_PY_DIR=" + filepath.Join(root, "python"),
	}
	var dataset strings.Builder
	for i := range questions {
		colour := []string{"green", "red", "blue"}[i%3]
		r.write(t, fmt.Sprintf("q.corpus/box%02d.md", i), fmt.Sprintf("# Box %d\n\nThe lamp of keeper%d is %s.\n", i, i, colour))
		fmt.Fprintf(&dataset, `{"id":"q%02d","question":"What colour is the lamp of keeper%d?","expected_substrings":[%q],"expected_paths":["box%02d.md"]}`+"\n", i, i, colour, i)
	}
	r.write(t, "q.jsonl", dataset.String())
	return r
}

func (r *rig) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// command returns the script with these flags. It is killed at the end of the test.
func (r *rig) command(t *testing.T, flags ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	script, err := filepath.Abs("tri-sdk.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script, "--port", strconv.Itoa(r.port)}, flags...)...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &out, &out
	return cmd, &out
}

// run runs the script on the dataset, and returns its exit code and output.
func (r *rig) run(t *testing.T, flags ...string) (int, string) {
	t.Helper()
	cmd, out := r.command(t, append([]string{"--dataset", "q.jsonl", "--output", "out", "--scorer", "exact",
		"--actor", "fake", "--concurrency", "2", "--cache-dir", "cache"}, flags...)...)
	return code(t, cmd.Run(), out), out.String()
}

func code(t *testing.T, err error, out *bytes.Buffer) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	return exit.ExitCode()
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		l.Close()
	}
	return err == nil
}

// stopped checks that nothing listens on the ports, and that no temporary file remains.
func (r *rig) stopped(t *testing.T) {
	t.Helper()
	for i := range 3 {
		if !free(r.port + i) {
			t.Errorf("port %d is still taken", r.port+i)
		}
	}
	for _, variable := range r.env {
		if dir, ok := strings.CutPrefix(variable, "TMPDIR="); ok {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v %v", dir, left, err)
			}
		}
	}
}

// result is what the tests look at in a result file.
type result struct {
	Total, Passed, Planned int
	Stopped                string
	Replay                 struct {
		Arm    string
		Sample struct{ Signature string }
	}
}

func (r *rig) result(t *testing.T, sdk string) (res result) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "out", sdk+".json"))
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// has checks that a text has some parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func (r *rig) readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "out", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTriSDK(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if code, out := r.run(t, "--limit", "20", "--accept", "effective_modes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, sdk := range []string{"ts", "go", "py"} {
		res := r.result(t, sdk)
		if res.Replay.Arm != sdk || res.Total != 20 || res.Passed < 15 || res.Stopped != "" ||
			res.Replay.Sample.Signature != r.result(t, "go").Replay.Sample.Signature {
			t.Errorf("%s: %+v", sdk, res)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "out", sdk+".daemon.log")); err != nil {
			t.Error(err)
		}
	}
	has(t, r.readme(t), "## Comparison", "no difference is shown in", "## Measured: `py` passed", "20 of 24 questions", "## The same in all arms", "evalctl compare out/ts.json")
	r.stopped(t)
}

// TestTriSDKModes measures daemons that run different modes. They are ranked only if that is
// accepted, as evalctl compare does with the same files.
func TestTriSDKModes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "SVC_SDK_PY_CMD=python3 daemon.py serve --addr {addr} --effective-mode hybrid")
	const differs = "effective_modes differs (ts bm25, go bm25, py hybrid)"
	code, out := r.run(t)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	readme := r.readme(t)
	for _, text := range []string{out, readme} {
		has(t, text, "Not comparable: "+differs+"; no ranking. With --accept effective_modes")
		for _, not := range []string{" vs ", "only other", "McNemar", "mcnemar", " pp", "differences shown", "difference shown"} {
			if strings.Contains(text, not) {
				t.Errorf("%q is in:\n%s", not, text)
			}
		}
	}
	has(t, readme, "| dialect | `camel` | `snake` | `snake` |", "MiB")
	files := []string{"out/ts.json", "out/go.json", "out/py.json"}
	if code, out := r.compare(t, files); code != 6 {
		t.Errorf("compare ends with %d:\n%s", code, out)
	}

	if err := os.RemoveAll(filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	if code, out = r.run(t, "--accept", "effective_modes", "--html", "page.html"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	html, err := os.ReadFile(filepath.Join(r.dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	readme = r.readme(t)
	for _, text := range []string{out, readme, string(html)} {
		has(t, text, "Accepted, and what follows may come from it: effective_modes differs (", "No difference of the pass rate is shown.")
	}
	code, compared := r.compare(t, append(files, "--accept", "effective_modes", "--format", "markdown"))
	if code != 0 {
		t.Errorf("compare ends with %d:\n%s", code, compared)
	}
	for line := range strings.Lines(compared) { // the same figures, by the same names
		if strings.HasPrefix(line, "| ") && !strings.Contains(readme, line) {
			t.Errorf("%q is not in the report:\n%s", line, readme)
		}
	}
	r.stopped(t)
}

// compare runs evalctl compare, and returns its exit code and output.
func (r *rig) compare(t *testing.T, args []string) (int, string) {
	t.Helper()
	evalctl, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), evalctl, append([]string{"compare"}, args...)...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &out, &out
	return code(t, cmd.Run(), &out), out.String()
}

func TestTriSDKDaemonDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "SVC_SDK_PY_CMD=python3 daemon.py serve --addr {addr} --die-after-searches 9")
	code, out := r.run(t)
	if code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	has(t, out, "py: ", "the daemon died", "--resume out/replay.ledger")
	for _, sdk := range []string{"ts", "go"} {
		if res := r.result(t, sdk); res.Total != questions || res.Stopped != "" {
			t.Errorf("%s: %+v", sdk, res)
		}
	}
	if res := r.result(t, "py"); res.Stopped != "daemon_died" || res.Total == 0 || res.Total >= questions {
		t.Errorf("py: %+v", res)
	}
	has(t, r.readme(t), "## Inconclusive: `py`", "the daemon died", "this is not a score", "## Measured: `ts` passed")
	r.stopped(t)
}

func TestTriSDKDaemonDoesNotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, `SVC_SDK_TS_CMD=sh -c "echo no licence found >&2; exit 7" {addr}`)
	code, out := r.run(t, "--accept", "effective_modes") // py reports none
	if code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	has(t, out, "no licence found", "tri-sdk: no result of ts")
	for _, sdk := range []string{"go", "py"} {
		if res := r.result(t, sdk); res.Total != questions || res.Stopped != "" {
			t.Errorf("%s: %+v", sdk, res)
		}
	}
	has(t, r.readme(t), "## No result: `ts`", "no licence found", "vs `go` |")
	r.stopped(t)
}

// TestTriSDKTerminated ends the script while a daemon starts.
func TestTriSDKTerminated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "SVC_SDK_TS_CMD=sh -c 'echo $$ >pid; exec sleep 600' {addr}", "SVC_SDK_TS_DIR="+r.dir)
	cmd, out := r.command(t, "--dataset", "q.jsonl", "--output", "out", "--scorer", "retrieval", "--cache-dir", "cache")
	// With a file, Wait does not wait for what the script leaves running.
	log, err := os.Create(filepath.Join(r.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	daemon := r.pid(t)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := code(t, cmd.Wait(), out); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	if err := syscall.Kill(daemon, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the daemon still runs: %v", err)
	}
	r.stopped(t)
}

// pid waits for the file with the process id of a daemon.
func (r *rig) pid(t *testing.T) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(r.dir, "pid"))
		if text, ok := strings.CutSuffix(string(data), "\n"); err == nil && ok {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the daemon was not started")
	return 0
}

// TestTriSDKRefuses checks that nothing is started if something is wrong.
func TestTriSDKRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env = append(r.env, "SVC_SDK_TS_CMD=sh -c 'touch started' {addr}", "SVC_SDK_TS_DIR="+r.dir)
	r.write(t, "full/go.json", "{}")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	last := taken.Addr().(*net.TCPAddr).Port - 2
	for name, c := range map[string]struct {
		flags []string
		env   string
		want  string
	}{
		"no flags":      {want: "--dataset is missing"},
		"no ts":         {flags: []string{"--dataset", "q.jsonl"}, env: "SVC_SDK_TS_CMD=", want: "SVC_SDK_TS_CMD is not set"},
		"no py":         {flags: []string{"--dataset", "q.jsonl"}, env: "SVC_SDK_PY_CMD=", want: "SVC_SDK_PY_CMD is not set"},
		"port taken":    {flags: []string{"--dataset", "q.jsonl", "--port", strconv.Itoa(last)}, want: fmt.Sprintf("port %d is taken", last+2)},
		"port too high": {flags: []string{"--dataset", "q.jsonl", "--port=65534"}, want: "must be from 1 to 65533"},
		"no port":       {flags: []string{"--dataset", "q.jsonl", "--port", "x"}, want: "--port x"},
		"no value":      {flags: []string{"--dataset", "q.jsonl", "--output"}, want: "--output needs a value"},
		"own flag":      {flags: []string{"--dataset", "q.jsonl", "--sdk", "go"}, want: "--sdk is set by this script"},
		"full folder":   {flags: []string{"--dataset", "q.jsonl", "--output", "full"}, want: "full is not empty"},
		"unknown flag":  {flags: []string{"--dataset", "q.jsonl", "--output", "new", "--seeds", "1"}, want: "unknown flag --seeds"},
		"no dataset":    {flags: []string{"--dataset", "none.jsonl", "--output", "new", "--scorer", "retrieval"}, want: "none.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, out := r.command(t, c.flags...)
			cmd.Env = append(cmd.Env, c.env)
			if code := code(t, cmd.Run(), out); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			has(t, out.String(), c.want)
			for _, name := range []string{"started", "new", "results"} {
				if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
					t.Errorf("%s exists", name)
				}
			}
		})
	}
	r.stopped(t)
}

func TestShellcheck(t *testing.T) {
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.CommandContext(t.Context(), path, "tri-sdk.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
