package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/internal/inputfile"
)

// maxName is the maximum length of a brain's name.
const maxName = protocol.MaxBrainSlug

// schema is the version of the form in which haystacks are written. Brains of another version are
// not reused.
const schema = 1

// Daemon identifies a daemon, on which the contents of a brain depend.
type Daemon struct {
	// Build is the version reported by the daemon, followed by the result of the function Build if
	// it was started. If it is empty, no brain is reused.
	Build string
	// Models are the daemon's provider, model and embedder, in any form. Its extraction prompts are
	// part of its program.
	Models []string
}

// signature identifies the contents of a brain with these haystacks: it is the hexadecimal SHA-256
// of everything that they depend on.
func (f *filler) signature(haystacks []string) string {
	return digest(map[string]any{
		"schema": schema, "format": f.bench.Format, "dataset": f.bench.SHA256,
		"corpus": f.bench.CorpusSHA256, "haystacks": slices.Sorted(slices.Values(haystacks)),
		"mode":  f.Mode,
		"build": f.Daemon.Build, "models": f.Daemon.Models,
	})
}

// together returns the signature of all brains together, empty in the mode None.
func together(brains []brain) string {
	all := make([]string, len(brains))
	for i, b := range brains {
		if b.signature == "" {
			return ""
		}
		all[i] = b.signature
	}
	slices.Sort(all)
	return digest(all)
}

// digest returns the SHA-256 of the JSON of v, whose keys are sorted.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a signature: %v", err)) // it has texts, numbers and truth values
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Build identifies the program of a daemon started with a command: it returns a hash of the
// command, the program file and all arguments that name files. Files that these load are not
// covered. Build reads whole files.
func Build(command []string) (string, error) {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return "", fmt.Errorf("identify the daemon's program: %w", err)
	}
	sum := sha256.New()
	for i, arg := range command {
		name := arg
		if i == 0 {
			name = program
		} else {
			fmt.Fprintf(sum, "argument %d %s\n", len(arg), arg)
		}
		if err := addFile(sum, name); err != nil {
			return "", fmt.Errorf("identify the daemon's program: %w", err)
		}
	}
	return "+" + hex.EncodeToString(sum.Sum(nil)), nil
}

// addFile adds the content of a regular file to a hash. It ignores other names.
func addFile(sum io.Writer, name string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := inputfile.Open(name, inputfile.Streamed)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(sum, "file %d\n", info.Size())
	_, err = io.Copy(sum, f)
	return err
}
