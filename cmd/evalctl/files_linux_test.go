package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evalctl/internal/filetest"
)

// TestFilesOfOthers runs each command with something in place of each file that it reads that is
// not one, or not of that kind. The command ends, with an error that names the file and has nothing
// of its content, in little memory.
func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	const secret = "hush-9f3c"
	put := func(name, text string) {
		t.Helper()
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	put("q.jsonl", `{"id":"q","question":"what?","expected_substrings":["x"]}`+"\n")
	put("corpus.jsonl", `{"path":"a.md","text":"x"}`+"\n")
	put("secret", secret+":x:0:0\n"+secret+"\n")
	answers := slowDaemon(t)
	cmd := exec.CommandContext(t.Context(), "evalctl", "run", "--target", "stub="+answers.URL, "--brain", "notes", "--dataset", "q.jsonl",
		"--scorer", "exact", "--floor", "0", "--quiet")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	results, err := filepath.Glob(filepath.Join(dir, "results", "*", "stub.json"))
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	good := results[0]
	text := filetest.Read(t, good)
	put("good.json", string(text))
	put("key.pub", "")
	kinds := map[string]func(path string) error{
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device":  func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"kernel":  func(path string) error { return os.Symlink("/proc/kmsg", path) },
		"other":   func(path string) error { return os.Symlink(filepath.Join(dir, "secret"), path) },
		"nothing": func(path string) error { return os.Symlink(filepath.Join(dir, "missing"), path) },
		"sparse": func(path string) error {
			return firstError(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
		"binary": func(path string) error { return os.WriteFile(path, []byte("\xff\xfe\x00\xff"+secret), 0o600) },
	}
	run := "run --target stub=" + answers.URL + " --brain notes --scorer exact --quiet "
	for command, name := range map[string]string{
		run + "--dataset FILE":                       "x.jsonl",
		run + "--dataset q.jsonl --ids @FILE":        "ids.txt",
		run + "--dataset q.jsonl --baseline FILE":    "base.json",
		"run --resume FILE":                          "x.journal",
		"--config FILE " + run + "--dataset q.jsonl": "evalctl.yaml",
		"run --target stub=" + answers.URL + " --dataset q.jsonl --corpus FILE --scorer exact": "c.jsonl",
		"dataset check FILE":                                "z.jsonl",
		"dataset convert FILE --output out.jsonl":           "t.json",
		"verify FILE":                                       "v.json",
		"verify good.json --allowed-signers FILE":           "allowed",
		"show FILE":                                         "s.json",
		"compare FILE good.json":                            "a.json",
		"show FILE --markdown -":                            "r.json",
		"rescore FILE --scorer exact":                       "rs.json",
		"import FILE --as x":                                "i.json",
		"import good.json --as x --mapping FILE":            "m.yaml",
		"judge check --labels FILE --judge fake":            "labels.jsonl",
		"verify --sign good.json --key FILE":                "key",
		"replay --dataset FILE --sdk go --scorer retrieval": "bench.json",
	} {
		for kind, make := range kinds {
			if kind == "folder" && strings.Contains(command, "--corpus") || kind == "other" && strings.Contains(command, "--ids") {
				continue // a corpus may be a folder, and any text may be ids
			}
			path := filepath.Join(dir, kind+"-"+name)
			_ = os.RemoveAll(path)
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir, strings.ReplaceAll(command, "FILE", path), filepath.Base(path), secret, true)
		}
	}
	// Such a file in a folder is named, and the other files are read.
	for _, make := range kinds {
		for _, name := range []string{"x.json", "x.journal"} {
			path := filepath.Join(filepath.Dir(good), name)
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{"show list results", "show board results", "show trend results"} {
				refuses(t, dir, command, "", secret, false)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		allowed := filepath.Join(dir, "signers")
		put("signers", "a@b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP2t+z1ge7U6/ynHhi+GYsgTwTgdgs/kQyxiYO98tVFC\n")
		signature := filepath.Join(dir, "good.json.sig")
		if err := make(signature); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, "verify good.json --allowed-signers "+allowed, "good.json.sig", secret, true)
		if err := os.RemoveAll(signature); err != nil {
			t.Fatal(err)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// refuses runs a command, which must end, and if fails is set with an error that has a name.
func refuses(t *testing.T, dir, command, name, secret string, fails bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "evalctl", strings.Fields(command)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake")
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s does not end: %.500s", command, out)
	case fails && (err == nil || !bytes.Contains(out, []byte(name))):
		t.Errorf("%s: %v, without %s: %.500s", command, err, name, out)
	case !fails && err != nil && cmd.ProcessState.ExitCode() != exitDifferent:
		t.Errorf("%s: %v: %.500s", command, err, out)
	case bytes.Contains(out, []byte(secret)):
		t.Errorf("%s shows the content: %.500s", command, out)
	}
	if rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; rss > 300 && !raceDetector {
		t.Errorf("%s took %d MiB", command, rss)
	}
}
