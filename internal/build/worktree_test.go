package build

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runGit runs git in dir and returns its output. The user name does not depend on this machine's
// configuration.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{
		"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always",
	}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// put writes files below dir. pairs alternates paths and texts.
func put(t *testing.T, dir string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		file := filepath.Join(dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(pairs[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// repository creates a work tree with one commit and returns its hash.
func repository(t *testing.T, dir string, pairs ...string) string {
	t.Helper()
	put(t, dir, pairs...)
	runGit(t, dir, "init", "--quiet")
	runGit(t, dir, "add", "--all")
	runGit(t, dir, "commit", "--quiet", "--message", "one")
	return runGit(t, dir, "rev-parse", "HEAD")
}

func TestWorktreeCommit(t *testing.T) {
	dir := t.TempDir()
	commit := repository(t, dir, "go.mod", "// A comment.\nmodule \"example.org/m\" // and another\n\ngo 1.26\n", ".gitignore", "*.log\n", "cmd/m/main.go", "package build\n")
	check := func(name, from, module, want string) {
		t.Helper()
		if got := worktreeCommit(from, module); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	check("clean", dir, "example.org/m", commit)
	check("below the root", filepath.Join(dir, "cmd", "m"), "example.org/m", commit)
	check("another module", dir, "example.org/other", "")
	put(t, dir, "run.log", "")
	check("an ignored file", dir, "example.org/m", commit)

	t.Run("environment of a hook", func(t *testing.T) {
		other := t.TempDir()
		repository(t, other, "a", "a")
		t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
		check("", dir, "example.org/m", commit)
	})
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		check("", dir, "example.org/m", "")
	})
	t.Run("linked work tree", func(t *testing.T) {
		linked := filepath.Join(t.TempDir(), "linked")
		runGit(t, dir, "worktree", "add", "--quiet", "--detach", linked)
		check("", linked, "example.org/m", commit)
	})

	put(t, dir, "new.go", "")
	check("an untracked file", dir, "example.org/m", commit+"-dirty")
	if err := os.Remove(filepath.Join(dir, "new.go")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "cmd/m/main.go", "package m\n")
	check("a changed file", dir, "example.org/m", commit+"-dirty")

	empty := t.TempDir()
	put(t, empty, "go.mod", "module example.org/m\n")
	check("no repository", empty, "example.org/m", "")
	runGit(t, empty, "init", "--quiet")
	check("no commit", empty, "example.org/m", "")
}

// TestWorktreeRunsNothing: a work tree may claim to be this module and name programs in its
// configuration. Plain git status runs them, but worktreeCommit must not.
func TestWorktreeRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the hostile programs are shell scripts, and there is no sh")
	}
	for _, hostile := range []struct {
		name  string
		setUp func(dir, program string)
	}{
		{"fsmonitor", func(dir, program string) { runGit(t, dir, "config", "core.fsmonitor", program) }},
		{"clean filter", func(dir, program string) {
			put(t, dir, ".git/info/attributes", "* filter=x.y\n")
			runGit(t, dir, "config", "filter.x.y.clean", program)
		}},
		{"process filter", func(dir, program string) {
			put(t, dir, ".git/info/attributes", "* filter=x\n")
			runGit(t, dir, "config", "filter.x.process", program)
			runGit(t, dir, "config", "filter.x.required", "true")
		}},
		{"filter with an odd name", func(dir, program string) {
			put(t, dir, ".git/info/attributes", "* filter=x=y\n")
			runGit(t, dir, "config", "filter.x=y.clean", program)
		}},
		{"filter of an included file", func(dir, program string) {
			put(t, dir, ".git/info/attributes", "* filter=x\n", ".git/more", "[filter \"x\"]\nclean = "+program+"\n")
			runGit(t, dir, "config", "include.path", "more")
		}},
		{"hook", func(dir, program string) {
			put(t, dir, ".git/hooks/post-index-change", "#!/bin/sh\n"+program+"\n")
		}},
		{"submodule", func(dir, program string) {
			sub := t.TempDir()
			repository(t, sub, "a", "a")
			runGit(t, dir, "submodule", "--quiet", "add", sub, "sub")
			runGit(t, dir, "commit", "--quiet", "--message", "two")
			put(t, dir, ".git/modules/sub/info/attributes", "* filter=x\n", "sub/a", "b")
			runGit(t, filepath.Join(dir, "sub"), "config", "filter.x.clean", program)
		}},
		{"lazy fetch", func(dir, program string) {
			runGit(t, dir, "config", "remote.origin.url", "ssh://example.invalid/x")
			runGit(t, dir, "config", "remote.origin.promisor", "true")
			runGit(t, dir, "config", "core.repositoryFormatVersion", "1")
			runGit(t, dir, "config", "extensions.partialClone", "origin")
			runGit(t, dir, "config", "core.sshCommand", program)
			tree := runGit(t, dir, "rev-parse", "HEAD^{tree}")
			if err := os.Remove(filepath.Join(dir, ".git", "objects", tree[:2], tree[2:])); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(hostile.name, func(t *testing.T) {
			t.Parallel()
			dir, canary := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			repository(t, dir, "go.mod", "module example.org/m\n")
			program := filepath.Join(t.TempDir(), "program")
			put(t, filepath.Dir(program), "program", "#!/bin/sh\ntouch '"+canary+"'\n")
			hostile.setUp(dir, program)
			// If the modification time differs from the index, git reads the file again.
			touched := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "go.mod"), touched, touched); err != nil {
				t.Fatal(err)
			}
			got := worktreeCommit(dir, "example.org/m")
			if _, err := os.Stat(canary); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the program of the work tree ran, and the commit is %q", got)
			}
			status := exec.CommandContext(t.Context(), "git", "status")
			status.Dir = dir
			out, _ := status.CombinedOutput() // fails if the program is not a filter
			if _, err := os.Stat(canary); err != nil {
				t.Errorf("plain git status does not run the program either, so this test is void: %s", out)
			}
		})
	}
}

// TestGoRunCommit: go run does not stamp a commit, but this package knows it nevertheless. A
// program that go build did not stamp may have been built at any commit.
func TestGoRunCommit(t *testing.T) {
	t.Parallel()
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	copyPackage(t, origin)
	put(t, origin, "cmd/small/main.go", `package main

import "evalctl/internal/build"

func main() { println(build.Of("0").String()) }
`)
	commit := repository(t, origin)
	runGit(t, origin, "clone", "--quiet", origin, clone)
	check := func(name, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "-trimpath"}, args...)...)
		cmd.Dir = clone
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if !strings.Contains(string(out), "("+want+")") {
			t.Errorf("%s: got %q, want commit %q", name, out, want)
		}
	}
	check("clean", commit, "./cmd/small")
	check("again, from the build cache", commit, "./cmd/small")
	program := filepath.Join(t.TempDir(), "small")
	compile := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/small")
	compile.Dir = clone
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	built := exec.CommandContext(t.Context(), program)
	built.Dir = clone
	if out, err := built.CombinedOutput(); err != nil || !strings.Contains(string(out), "(commit unknown)") {
		t.Errorf("a program of go build without a stamp: got %q, %v, want an unknown commit", out, err)
	}
	put(t, clone, "new.jsonl", "")
	check("an untracked file", commit+"-dirty", "./cmd/small")
	if _, err := exec.LookPath("env"); err == nil {
		foreign := t.TempDir()
		repository(t, foreign, "go.mod", "module example.org/foreign\n")
		put(t, foreign, "there", "#!/bin/sh\ncd '"+foreign+"' && exec \"$@\"\n")
		check("from another repository", "commit unknown", "-exec", filepath.Join(foreign, "there"), "./cmd/small")
	}
}

func TestBuiltByGoRun(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	for file, want := range map[string]bool{
		"tmp/go-build123/b001/exe/evalctl":       true,
		"cache/01/" + hash + "-d/evalctl":        true,
		"cache/02/" + hash + "-d/evalctl":        false,
		"cache/01/" + hash + "/evalctl":          false,
		"tmp/go-build123/b001/evalctl.test":      false,
		"tmp/build123/b001/exe/evalctl":          false,
		"tmp/go-build123/b001/other/evalctl":     false,
		"tmp/go-build123/b001/exe/below/evalctl": false,
		"usr/bin/evalctl":                        false,
		"evalctl":                                false,
	} {
		if got := builtByGoRun(filepath.FromSlash(file)); got != want {
			t.Errorf("%s: got %t, want %t", file, got, want)
		}
	}
}

// TestVersionCommit: evalctl --version prints the commit of this work tree. The flags of go run are
// those of the tests, so that only the program must still be linked.
func TestVersionCommit(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	if worktreeCommit(root, "evalctl") == "" {
		t.Skip("the tests do not run in a git work tree")
	}
	head := runGit(t, root, "rev-parse", "HEAD")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/evalctl", "version")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "("+head) { // with -dirty while somebody works on it
		t.Errorf("got %q, %v, want commit %s", out, err, head)
	}
}

// copyPackage copies this package, as the only one of a module with the same name.
func copyPackage(t *testing.T, to string) {
	t.Helper()
	put(t, to, "go.mod", "module evalctl\n\ngo 1.26\n")
	for _, of := range []string{"build", "environ", "redact"} { // the others are what it imports
		files, err := filepath.Glob(filepath.Join("..", of, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, to, filepath.Join("internal", of, filepath.Base(file)), string(text))
		}
	}
}
