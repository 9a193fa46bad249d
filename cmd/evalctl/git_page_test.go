package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/porttest"
)

// shellBlocks returns the code of a page's blocks that are marked as sh.
func shellBlocks(t *testing.T, page string) string {
	t.Helper()
	data := filetest.Read(t, page)
	var code strings.Builder
	for i, part := range strings.Split(string(data), "```") {
		if text, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			code.WriteString(text)
		}
	}
	return code.String()
}

// freePort returns a port of loopback that no other test gets.
func freePort(t *testing.T) string { return strconv.Itoa(porttest.Free(t, 1)) }

// TestGitPage runs the commands of docs/git.md, with other ports.
func TestGitPage(t *testing.T) {
	if raceDetector {
		t.Skip("it runs other processes only")
	}
	t.Parallel()
	for _, program := range []string{"bash", "curl", "git", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	code := shellBlocks(t, "../../docs/git.md")
	one, two := freePort(t), freePort(t)
	code = strings.NewReplacer("8801", one, "880$n", "$(port $n)", "8802", two).Replace(code)
	code = "port() { if [ $1 = 1 ]; then echo " + one + "; else echo " + two + "; fi; }\n" + code
	cmd := exec.CommandContext(t.Context(), "timeout", "60", "bash", "-eu", "-c", code)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, want := range []string{`Good "git" signature for evalctl@localhost`, "The kettle is green.", "write kettle.md"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
