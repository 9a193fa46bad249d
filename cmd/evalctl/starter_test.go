package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// TestInitWorkflow runs the workflow of evalctl init as GitHub does: a pull request that changes
// nothing passes. So does one whose base has no project. One whose service does not start fails.
func TestInitWorkflow(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it runs other processes only, one at a time")
	}
	dir, empty := t.TempDir(), t.TempDir()
	repo := filepath.Join(dir, "repo")
	must := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	commit := func() {
		must("git", "-C", repo, "add", "--all")
		must("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "--message", "x")
	}
	must("git", "init", "--quiet", "--initial-branch=main", repo)
	commit()
	must("git", "-C", repo, "tag", "bare")
	must("evalctl", "init", filepath.Join(repo, "memory"))
	commit()
	must("git", "-C", repo, "remote", "add", "origin", repo)
	pull := func(base, temp string) (int, string) {
		var all strings.Builder
		for _, step := range workflowSteps(t, filepath.Join(repo, "memory", ".github/workflows/evalctl.yml")) {
			code, out := gate(t, repo, step, "BASE="+base, "RUNNER_TEMP="+temp, "PROJECT=memory", "BUILD=true", "EVALCTL_URL=", "GITHUB_PATH="+os.DevNull)
			if all.WriteString(out); code != 0 {
				return code, all.String()
			}
		}
		return 0, all.String()
	}
	code, out := pull("main", t.TempDir())
	if results, _ := filepath.Glob(filepath.Join(repo, "memory/results/*/*/service.json")); code != 0 || len(results) != 2 {
		t.Errorf("an unchanged service: exit code %d, %q\n%s", code, results, out)
	}
	if err := os.RemoveAll(filepath.Join(repo, "memory/results")); err != nil {
		t.Fatal(err)
	}
	if code, out := pull("bare", empty); code != 0 {
		t.Errorf("a base without a project: exit code %d\n%s", code, out)
	}
	project := filepath.Join(repo, "memory/evalctl.yaml")
	data, err := os.ReadFile(project)
	if err == nil {
		err = errors.Join(os.RemoveAll(filepath.Join(repo, "memory/results")), os.WriteFile(project, []byte(strings.Replace(string(data), "service: go", "service: 'false'", 1)), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, out := pull("main", t.TempDir()); code != exitDaemon {
		t.Errorf("a service that does not start: exit code %d\n%s", code, out)
	}
}

// TestInitWorkflowBase: a base below its floor is an answer like any other, so that the change that
// repairs it passes. A base that does not answer fails.
func TestInitWorkflowBase(t *testing.T) {
	t.Parallel()
	repo, programs := t.TempDir(), t.TempDir()
	must := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	must("evalctl", "init", repo)
	must("git", "init", "--quiet", "--initial-branch=main", repo)
	must("git", "-C", repo, "add", "--all")
	must("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "x")
	must("git", "-C", repo, "remote", "add", "origin", repo)
	if err := os.WriteFile(filepath.Join(programs, "evalctl"), []byte("#!/bin/sh\nexit $CODE\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	base := workflowSteps(t, filepath.Join(repo, ".github/workflows/evalctl.yml"))[1]
	for code, fails := range map[string]bool{"0": false, "1": false, "2": true, "4": true} {
		got, out := gate(t, repo, base, "BASE=main", "RUNNER_TEMP="+t.TempDir(), "PROJECT=.", "BUILD=true", "CODE="+code,
			"PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
		if got != 0 != fails {
			t.Errorf("a base whose run has exit code %s: the step has %d\n%s", code, got, out)
		}
	}
}

// TestInitGate runs the last step of the workflow of evalctl init --from. A service that does not
// change passes, also one that fails planted facts. One that begins to drop updates, or to ignore
// deletes, fails, although one planted fact of each kind shows no difference of the pass rate.
func TestInitGate(t *testing.T) {
	t.Parallel()
	d, err := daemon.New(t.Context(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel, Options: httpapi.Options{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	var ignored atomic.Value // the method of changes of planted documents that are acknowledged only
	var written sync.Map
	ignored.Store("")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, again := written.LoadOrStore(r.Method+r.URL.String(), true)
		planted := strings.Contains(r.URL.Query().Get("path"), "planted/")
		if planted && r.Method == ignored.Load() && (again || r.Method == http.MethodDelete) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		d.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { srv.Close(); _ = d.Close() })

	dir, notes := t.TempDir(), t.TempDir()
	filetest.Write(t, filepath.Join(notes, "tower.md"), "The lighthouse keeper Ottoline Farrow counts the ships.")
	command := func(code int, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "evalctl", args...)
		cmd.Dir = dir
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%q: exit code %d\n%s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	command(0, "init", "--from", notes, "--facts", "1", "--seed", "7")
	step := workflowSteps(t, filepath.Join(dir, ".github/workflows/evalctl.yml"))[3]
	runs := map[string]string{"good": "", "good again": "", "old texts": http.MethodPut, "old texts again": http.MethodPut, "all texts": http.MethodDelete}
	for name, ignoring := range runs {
		ignored.Store(ignoring)
		command(0, "run", "--target", "service="+srv.URL, "--output", name)
	}
	for pair, want := range map[[2]string]int{
		{"good", "good again"}: 0, {"old texts", "old texts again"}: 0, {"old texts", "good"}: 0,
		{"good", "old texts"}: exitBelowFloor, {"good", "all texts"}: exitBelowFloor, {"old texts", "all texts"}: exitBelowFloor,
	} {
		results := filepath.Join(dir, "results")
		err := os.RemoveAll(results)
		for i, side := range []string{"base", "change"} {
			err = errors.Join(err, os.CopyFS(filepath.Join(results, side), os.DirFS(filepath.Join(dir, pair[i]))))
		}
		if code, out := gate(t, dir, step, "PROJECT=."); code != want || err != nil {
			t.Errorf("%q: exit code %d, want %d, %v\n%s", pair, code, want, err, out)
		}
	}
}

// workflowSteps returns the scripts of a workflow. None may have an expression of GitHub in it.
func workflowSteps(t *testing.T, path string) (scripts []string) {
	t.Helper()
	data := filetest.Read(t, path)
	var w workflow
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			if strings.Contains(step.Run, "${{") {
				t.Errorf("an expression in the script of %q", step.Name)
			}
			if step.Run != "" {
				scripts = append(scripts, step.Run)
			}
		}
	}
	if len(scripts) != 4 || w.Permissions["contents"] != "read" {
		t.Fatalf("%d scripts, permissions %v", len(scripts), w.Permissions)
	}
	return scripts
}
