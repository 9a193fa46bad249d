package signing_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/harness/signing"
	"evalctl/internal/filetest"
	"evalctl/internal/sshsig"
)

// newKey writes a key, and a file that allows it to sign as name in a namespace.
func newKey(t *testing.T, name, namespace string) (*sshsig.Signer, *sshsig.AllowedKeys) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	key, allowed := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "allowed")
	line := name + ` namespaces="` + namespace + `" ` + string(ssh.MarshalAuthorizedKey(public))
	for path, data := range map[string][]byte{key: pem.EncodeToMemory(block), allowed: []byte(line)} {
		filetest.Write(t, path, data)
	}
	signer, err := sshsig.Load(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	signers, err := sshsig.ReadAllowed(allowed)
	if err != nil {
		t.Fatal(err)
	}
	return signer, signers
}

// resultFile returns a result file of three questions, of which one failed.
func resultFile(t *testing.T) []byte {
	t.Helper()
	began := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
	f := resulttest.File{Result: result.Result{
		SDK: "go", ScorerName: "exact", StartedAt: began, FinishedAt: began.Add(time.Minute), Planned: 3,
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dialect: result.Auto,
			Dataset: result.DatasetID{Path: "q.jsonl", SHA256: strings.Repeat("9f", 32), Selected: 3, Tags: map[string]int{}},
			Daemon:  result.DaemonID{Program: "evalctl", Version: "1"},
			Tool:    result.ToolID{Version: "0", Commit: "a", Go: "go", OS: "linux", Arch: "amd64", CPUs: 2},
		},
		Brains:   []result.BrainInfo{{ID: "eval", Questions: 3}},
		Settings: result.Settings{Floor: 0.5, Concurrency: 1, TimeoutSeconds: 60},
	}}
	for i := range 3 {
		f.Questions = append(f.Questions, result.Record{
			ID: fmt.Sprint("q", i), Question: "?", Outcome: result.Scored, Score: new(float64(min(i, 1))),
			Passed: i > 0,
			Reply:  result.Reply{Attempts: 1, EffectiveMode: "bm25", Answer: []string{"no", "yes", "yes"}[i], Citations: []json.RawMessage{}, Retrieved: []result.Chunk{}}, Line: i + 1,
			Expected: []string{"yes"},
		})
	}
	f.Fill()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSignature signs a result, and finds another key, another namespace, another text, a damaged
// signature and a missing one.
func TestSignature(t *testing.T) {
	data := resultFile(t)
	path := filepath.Join(t.TempDir(), "go.json")
	write := func(path string, data []byte) {
		filetest.Write(t, path, data)
	}
	write(path, data)
	signer, allowed := newKey(t, "ci@example.org", "evalctl-result")
	_, others := newKey(t, "other@example.org", "evalctl-result")
	signature, err := signing.Sign(signer, path)
	if err != nil || signature != path+".sig" {
		t.Fatalf("the signature is %s: %v", signature, err)
	}
	armored := filetest.Read(t, signature)
	for _, c := range []struct {
		name    string
		allowed *sshsig.AllowedKeys
		change  func()
		problem string
	}{
		{"signed", allowed, func() {}, ""},
		{"another key", others, func() {}, "is not in"},
		{"another text", allowed, func() { write(path, append(data, '\n')) }, "is not of this text"},
		{"damaged", allowed, func() { write(path, data); write(signature, armored[:len(armored)/2]) }, "go.json.sig: "},
		{"missing", allowed, func() { _ = os.Remove(signature) }, "there is no " + signature},
	} {
		c.change()
		v, err := signing.Verify(path, c.allowed)
		if err != nil || !v.OK {
			t.Fatalf("%s: %v, %+v", c.name, err, v)
		}
		s := v.Signature
		if s.OK != (c.problem == "") || !strings.Contains(s.Problem, c.problem) || s.OK && s.Principal != "ci@example.org" {
			t.Errorf("%s: got %+v, want the problem %q", c.name, s, c.problem)
		}
	}
}

// TestSignatureOfEitherName: a result with two names counts as signed if either name has a good
// signature. If neither has, the problem is that of the name that was asked about.
func TestSignatureOfEitherName(t *testing.T) {
	data, dir := resultFile(t), t.TempDir()
	path := filetest.Write(t, filepath.Join(dir, "go.json"), data)
	own := filetest.Write(t, filepath.Join(dir, "go-20261101T030000Z-0a1b2c.json"), data)
	signer, allowed := newKey(t, "ci@example.org", "evalctl-result")
	stranger, _ := newKey(t, "other@example.org", "evalctl-result")
	if signature, err := signing.Sign(signer, path); err != nil || signature != own+".sig" {
		t.Fatalf("the signature is %s: %v", signature, err)
	}
	good := filetest.Read(t, own+".sig")
	other := filepath.Join(t.TempDir(), "go.json")
	filetest.Write(t, other, data)
	if _, err := signing.Sign(stranger, other); err != nil {
		t.Fatal(err)
	}
	strange := filetest.Read(t, other+".sig")
	for _, tt := range []struct {
		name        string
		latest, own []byte // the signatures, nil for none
		problem     string
	}{
		{"one", nil, good, ""},
		{"stale", []byte("stale"), good, ""},
		{"of another key", strange, good, ""},
		{"own is stale", good, []byte("stale"), ""},
		{"both are stale", []byte("stale"), []byte("stale"), "go.json.sig: it is not"},
		{"only the latest, stale", []byte("stale"), nil, "go.json.sig: it is not"},
		{"only its own, stale", nil, []byte("stale"), "0a1b2c.json.sig: it is not"},
		{"of another key and none", strange, nil, "is not in"},
		{"none", nil, nil, "there is no " + own + ".sig"},
	} {
		for file, text := range map[string][]byte{path + ".sig": tt.latest, own + ".sig": tt.own} {
			_ = os.Remove(file)
			if text != nil {
				filetest.Write(t, file, text)
			}
		}
		v, err := signing.Verify(path, allowed)
		if err != nil || !v.OK {
			t.Fatalf("%s: %v, %+v", tt.name, err, v)
		}
		s := v.Signature
		if s.OK != (tt.problem == "") || !strings.Contains(s.Problem, tt.problem) || s.OK && (s.Principal != "ci@example.org" || s.Problem != "") {
			t.Errorf("%s: got %+v, want the problem %q", tt.name, s, tt.problem)
		}
	}
}

// TestSignRejects: what is not what its questions say is not signed.
func TestSignRejects(t *testing.T) {
	path := filetest.Write(t, filepath.Join(t.TempDir(), "go.json"), bytes.Replace(resultFile(t), []byte(`"passed":true`), []byte(`"passed":false`), 1))
	signer, _ := newKey(t, "ci@example.org", "evalctl-result")
	if _, err := signing.Sign(signer, path); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(path + ".sig"); err == nil {
		t.Error("there is a signature")
	}
}
