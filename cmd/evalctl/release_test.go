package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestRelease checks a release that scripts/release.sh has built in the clone that
// EVALCTL_TEST_RELEASE names, and runs its container image. .ci/run builds one, and with
// EVALCTL_TEST_LONG checks that two releases of a commit are identical.
func TestRelease(t *testing.T) {
	clone := os.Getenv("EVALCTL_TEST_RELEASE")
	if clone == "" {
		t.Skip("EVALCTL_TEST_RELEASE names no clone with a release; .ci/run builds one")
	}
	dist := filepath.Join(clone, "dist")
	sums := filetest.Read(t, filepath.Join(dist, "SHA256SUMS"))
	head, err := exec.CommandContext(t.Context(), "git", "-C", clone, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(head))
	name := "evalctl_" + ciVersion + "_linux_" + runtime.GOARCH
	checkArchive(t, filepath.Join(dist, name+".tar.gz"), string(sums), name)
	checkFormula(t, filepath.Join(dist, "evalctl.rb"), string(sums))
	program := filepath.Join(dist, "linux_"+runtime.GOARCH, "evalctl")
	checkStatic(t, program)
	if runtime.GOOS != "linux" {
		t.Skip("the image is for Linux")
	}
	out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if want := "evalctl " + ciVersion + " (" + commit + ") "; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %q, %v, want %s…", out, err, want)
	}
	t.Run("image", func(t *testing.T) { testImage(t, filepath.Join(dist, name+".oci.tar")) })
}

// ciVersion is the version of the release that .ci/run builds.
const ciVersion = "0.0.0-ci"

// checkArchive checks the checksum and the contents of an archive.
func checkArchive(t *testing.T, file, sums, folder string) {
	t.Helper()
	data := filetest.Read(t, file)
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), filepath.Base(file)); !strings.Contains(sums, want) {
		t.Errorf("SHA256SUMS has no line %q:\n%s", want, sums)
	}
	compressed, err := gzip.NewReader(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(compressed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%04o %s", h.Mode, h.Name))
	}
	want := []string{"0644 " + folder + "/CHANGELOG.md", "0644 " + folder + "/LICENSE", "0644 " + folder + "/README.md", "0755 " + folder + "/evalctl"}
	if !slices.Equal(got, want) {
		t.Errorf("%s contains %q, want %q", file, got, want)
	}
}

// checkFormula checks that the formula has the checksums of all archives that Homebrew can install.
func checkFormula(t *testing.T, file, sums string) {
	t.Helper()
	formula := filetest.Read(t, file)
	archives := 0
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if !strings.HasSuffix(name, ".tar.gz") {
			continue
		}
		archives++
		want := "/" + name + "\"\n      sha256 \"" + sum + "\"\n"
		if !strings.Contains(string(formula), want) {
			t.Errorf("the formula lacks %q:\n%s", want, formula)
		}
	}
	if got := strings.Count(string(formula), "sha256"); archives == 0 || got != archives {
		t.Errorf("the formula has %d checksums, want %d", got, archives)
	}
}

// checkStatic checks that a program needs no loader and no shared library.
func checkStatic(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC }) {
		t.Errorf("%s is not linked statically", program)
	}
}
