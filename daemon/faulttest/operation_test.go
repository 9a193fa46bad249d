package faulttest

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

const password = "Geheim-9731"

// lockedCluster is a server that lets the user keeper in with the password only.
func lockedCluster(t *testing.T) (c *postgrestest.Cluster, conn string) {
	t.Helper()
	c = postgrestest.NewWith(t, postgrestest.Options{
		Fast:  true,
		Files: map[string]string{"pg_hba.conf": "host all svc 127.0.0.1/32 trust\nhost all keeper 127.0.0.1/32 scram-sha-256\n"},
	})
	u, err := url.Parse(c.Restored("CREATE ROLE keeper LOGIN PASSWORD '" + password + "';" +
		"DO $$ BEGIN EXECUTE 'GRANT CREATE ON DATABASE ' || current_database() || ' TO keeper'; END $$;"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("keeper", password)
	return c, u.String()
}

// TestOperation checks what an operator sees of a replica whose database stops and starts again.
func TestOperation(t *testing.T) {
	longtest.Skip(t)
	onlyLong(t)
	cluster, conn := lockedCluster(t)
	r := startReplica(t, "one", []string{"SVC_STORE=" + conn})
	w := newWorld(t, 1, func() []string { return []string{r.URL()} })
	ctx, c := t.Context(), w.at(r.URL())
	if _, err := c.CreateBrain(ctx, protocol.CreateBrain{ID: "notes", Name: "Notes"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Brain("notes").Write(ctx, "a.md", []byte("kettle")); err != nil {
		t.Fatal(err)
	}
	metrics := get(t, r.URL()+"/metrics")
	for _, line := range []string{
		"evalctl_postgres_up 1", "evalctl_postgres_lock_waiters 0", "evalctl_postgres_connections_max ",
		"evalctl_postgres_acquire_wait_seconds_total ",
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("metrics without %q", line)
		}
	}

	cluster.Stop("fast")
	if health, err := c.Health(ctx); err == nil && health.Ready {
		t.Error("ready without a database")
	}
	writeErr := c.Brain("notes").Write(ctx, "b.md", []byte("cup"))
	if writeErr == nil {
		t.Error("written without a database")
	}
	cluster.Start()
	if err := w.ready(ctx); err != nil {
		t.Errorf("the database is back: %v", err)
	}
	if data, err := c.Brain("notes").Read(ctx, "a.md"); string(data) != "kettle" {
		t.Errorf("read %q, error %v", data, err)
	}

	log, err := os.ReadFile(r.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"log": string(log), "metrics": metrics, "error": writeErr.Error()} {
		if strings.Contains(text, password) {
			t.Errorf("the %s has the password:\n%s", what, text)
		}
	}
	for _, secret := range []string{"INSERT", "UPDATE", "SELECT", "keeper"} {
		if strings.Contains(writeErr.Error(), secret) {
			t.Errorf("the client sees %s: %v", secret, writeErr)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRefusedStart checks the errors of a daemon whose database does not let it in.
func TestRefusedStart(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	_, conn := lockedCluster(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(conn, password, "Falsch-2468", 1)
	for name, tt := range map[string]struct {
		env, args []string
		code      int
		want      string
	}{
		"wrong password":                   {[]string{"SVC_STORE=" + wrong}, []string{"serve"}, 2, "28P01"},
		"password in arguments":            {nil, []string{"serve", "--store", conn}, 2, "PGPASSWORD"},
		"password in arguments of migrate": {nil, []string{"migrate", "--store", conn}, 2, "PGPASSWORD"},
		"no URL":                           {[]string{"SVC_STORE=host=127.0.0.1 password=" + password}, []string{"serve"}, 2, "postgres://"},
		"no URL for migrate":               {[]string{"SVC_STORE=host=127.0.0.1 password=" + password}, []string{"migrate"}, 2, "postgres://"},
		"parameter":                        {nil, []string{"serve", "--store", "postgres://keeper@127.0.0.1/d?password=" + password}, 2, "PGPASSWORD"},
		"no server":                        {[]string{"SVC_STORE=postgres://keeper:" + password + "@127.0.0.1:9/d"}, []string{"serve"}, 4, "127.0.0.1:9"},
		"not escaped":                      {[]string{"SVC_STORE=postgres://keeper:" + password + "%@127.0.0.1:9/d"}, []string{"serve"}, 2, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), path, tt.args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(append(os.Environ(), "SVC_LLM_PROVIDER=fake", "SVC_ADDR=127.0.0.1:0"), tt.env...)
			late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			out, _ := cmd.CombinedOutput()
			late.Stop()
			if cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit code %d, want %d, and %q in:\n%s", cmd.ProcessState.ExitCode(), tt.code, tt.want, out)
			}
			for _, secret := range []string{password, "Falsch-2468"} {
				if strings.Contains(string(out), secret) {
					t.Errorf("the output has the password:\n%s", out)
				}
			}
			if files, _ := filepath.Glob(cmd.Dir + "/*"); len(files) > 0 {
				t.Errorf("left %q", files)
			}
		})
	}
}
