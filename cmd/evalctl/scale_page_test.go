package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/postgres/postgrestest"
)

// TestScalePage runs the commands of docs/scale.md, with other ports and another server.
func TestScalePage(t *testing.T) {
	if raceDetector {
		t.Skip("it runs other processes only")
	}
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	server, err := url.Parse(cluster.Database())
	if err != nil {
		t.Fatal(err)
	}
	code := shellBlocks(t, "../../docs/scale.md")
	one, two, three := freePort(t), freePort(t), freePort(t)
	code = strings.NewReplacer(
		"127.0.0.1:5432", cluster.Addr(), "postgres://evalctl@", "postgres://svc@",
		"8801", one, "880$n", "$(port $n)", "8802", two, "8803", three,
	).Replace(code)
	code = "port() { if [ $1 = 1 ]; then echo " + one + "; else echo " + two + "; fi; }\n" +
		"trap 'kill $(jobs -p); wait' EXIT\n" + code
	cmd := exec.CommandContext(t.Context(), "timeout", "120", "bash", "-eu", "-c", code)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake", "SVC_HOME=",
		"PATH="+filepath.Dir(cluster.Bin("psql"))+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"PGHOST="+server.Hostname(), "PGPORT="+server.Port(), "PGUSER=svc")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"effective_mode":"bm25"`, "has version 2 already"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "The kettle is green."); n != 2 {
		t.Errorf("the document was found and read %d times, want 2:\n%s", n, out)
	}
}
