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
)

// TestRelease builds a release for one platform in a clone, and runs its container image. That two
// releases of a commit are identical is checked by .ci/run, with another cache.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if runtime.GOOS == "windows" {
		t.Skip("releases are built with bash")
	}
	origin := t.TempDir()
	copyModule(t, origin)
	commit := repository(t, origin)
	dist, sums := releaseOf(t, origin)
	name := "evalctl_1.2.3_linux_" + runtime.GOARCH
	checkArchive(t, filepath.Join(dist, name+".tar.gz"), sums, name)
	program := filepath.Join(dist, "linux_"+runtime.GOARCH, "evalctl")
	checkStatic(t, program)
	if runtime.GOOS != "linux" {
		t.Skip("the image is for Linux")
	}
	out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	if want := "evalctl 1.2.3 (" + commit + ") "; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %q, %v, want %s…", out, err, want)
	}
	t.Run("image", func(t *testing.T) { testImage(t, filepath.Dir(dist)) })
}

// releaseOf clones origin, builds release 1.2.3, and returns its folder and checksums.
func releaseOf(t *testing.T, origin string) (dist, sums string) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	runGit(t, origin, "clone", "--quiet", origin, clone)
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(clone, "scripts", "release.sh"), "1.2.3", "linux/"+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dist = filepath.Join(clone, "dist")
	text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return dist, string(text)
}

// checkArchive checks the checksum and the contents of an archive.
func checkArchive(t *testing.T, file, sums, folder string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), filepath.Base(file)); sums != want {
		t.Errorf("SHA256SUMS: got %q, want %q", sums, want)
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
