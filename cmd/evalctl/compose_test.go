package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/filetest"
	"evalctl/internal/postgres/postgrestest"
)

// compose is what this test looks at in a compose file.
type compose struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
		DependsOn   any `yaml:"depends_on"`
		Healthcheck struct{ Test []string }
		Configs     []struct{ Source, Target string }
	}
	Configs map[string]struct{ Content string }
	Volumes map[string]any
}

// theCompose returns docs/compose.yaml.
func theCompose(t *testing.T) compose {
	t.Helper()
	data := filetest.Read(t, "../../docs/compose.yaml")
	var c compose
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

var upstreams = regexp.MustCompile(`reverse_proxy (.*) \{`)

// TestComposeProxy checks that the load balancer has all replicas, at their ports, and asks a route
// for their health that exists.
func TestComposeProxy(t *testing.T) {
	c := theCompose(t)
	var replicas []string
	for name, s := range c.Services {
		if s.Image != "evalctl" {
			continue
		}
		_, port, err := net.SplitHostPort(s.Environment["SVC_ADDR"])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		replicas = append(replicas, name+":"+port)
	}
	slices.Sort(replicas)
	proxy := c.Services["proxy"]
	if len(replicas) != 2 || len(proxy.Configs) != 1 || !slices.Contains(proxy.Command, proxy.Configs[0].Target) {
		t.Fatalf("replicas %q, proxy %+v", replicas, proxy)
	}
	config := c.Configs[proxy.Configs[0].Source].Content
	if m := upstreams.FindStringSubmatch(config); m == nil || !slices.Equal(strings.Fields(m[1]), replicas) {
		t.Errorf("the proxy has %q, the replicas are %q", m, replicas)
	}
	if !strings.Contains(config, "health_uri /healthz?ready\n") {
		t.Errorf("no check of health in %s", config)
	}
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			volume, _, _ = strings.Cut(volume, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s: there is no volume %s", name, volume)
			}
		}
	}
}

// TestComposeNames checks that what the services have of each other is there: names, ports, the
// user and the database.
func TestComposeNames(t *testing.T) {
	c := theCompose(t)
	for name, s := range c.Services {
		conditions := map[string]any{}
		switch needs := s.DependsOn.(type) {
		case []any:
			for _, other := range needs {
				conditions[other.(string)] = nil
			}
		case map[string]any:
			conditions = needs
		}
		for other, condition := range conditions {
			needed, ok := c.Services[other]
			if !ok || condition != nil && len(needed.Healthcheck.Test) == 0 {
				t.Errorf("%s depends on %s, which is %+v", name, other, needed)
			}
		}
	}
	database := c.Services["postgres"]
	user, name := database.Environment["POSTGRES_USER"], database.Environment["POSTGRES_DB"]
	if want := []string{"CMD", "pg_isready", "-U", user, "-d", name}; !slices.Equal(database.Healthcheck.Test, want) {
		t.Errorf("the health of the database is asked with %q, want %q", database.Healthcheck.Test, want)
	}
	if volume := "database:/var/lib/postgresql/data"; !slices.Contains(database.Volumes, volume) {
		t.Errorf("the volumes of the database are %q, want %q, where its image keeps the data", database.Volumes, volume)
	}
	for _, replica := range []string{"replica-1", "replica-2"} {
		u, err := url.Parse(c.Services[replica].Environment["SVC_STORE"])
		if err != nil || u.Host != "postgres:5432" || u.User.Username() != user || u.Path != "/"+name {
			t.Errorf("%s uses %v, error %v, want user %s, database %s", replica, u, err, user, name)
		}
	}
	proxy := c.Services["proxy"]
	site, _, _ := strings.Cut(strings.TrimSpace(c.Configs["proxy"].Content), " ")
	if want := "127.0.0.1:8787" + site; len(proxy.Ports) != 1 || proxy.Ports[0] != want {
		t.Errorf("the proxy publishes %q, want %q", proxy.Ports, want)
	}
}

// TestCompose runs the replicas of docs/compose.yaml as processes, with the environment of the
// image and of the file, over a real database.
func TestCompose(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it runs other processes only")
	}
	c := theCompose(t)
	database := c.Services["postgres"]
	user, name := database.Environment["POSTGRES_USER"], database.Environment["POSTGRES_DB"]
	const password = "Geheim-1379"
	cluster := postgrestest.NewWith(t, postgrestest.Options{
		Fast:  true,
		Files: map[string]string{"pg_hba.conf": "host all svc 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"},
	})
	cluster.Restored(fmt.Sprintf("CREATE ROLE %s SUPERUSER LOGIN PASSWORD '%s'", user, password))
	cluster.Restored(fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, user))

	keys := filepath.Join(t.TempDir(), "keys.yaml")
	env := func(service string) []string {
		out := append(os.Environ(), "SVC_LLM_PROVIDER=fake")
		out = append(out, imageEnv(t)...)
		for key, value := range c.Services[service].Environment {
			value = strings.ReplaceAll(value, "0.0.0.0:8787", "127.0.0.1:0")
			value = strings.ReplaceAll(value, "postgres:5432", cluster.Addr())
			if strings.HasPrefix(value, "${POSTGRES_PASSWORD:?") {
				value = password
			}
			out = append(out, key+"="+value)
		}
		return out
	}
	create := exec.CommandContext(t.Context(), "evalctl", "serve", "keys", "create", "--file", keys, "--name", "ci", "--tenant", "acme", "--role", "writer")
	create.Env = env("replica-1")
	token, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, service := range []string{"replica-1", "replica-2"} {
		args := strings.Fields(strings.ReplaceAll(strings.Join(c.Services[service].Command, " "), "/data/keys.yaml", keys))
		cmd := exec.CommandContext(t.Context(), "evalctl", args...)
		cmd.Env, cmd.Stderr = env(service), os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() }) // killed with the context
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("%s does not start: %v", service, err)
		}
		urls = append(urls, strings.TrimSpace(strings.TrimPrefix(line, "evalctl: listening on ")))
	}
	bearer := strings.TrimSpace(string(token))
	ask := func(method, target, host, contentType, body string) string {
		return asked(t, bearer, method, target, host, contentType, body)
	}
	ask(http.MethodPost, urls[0]+"/v1/brains", "", "application/json", `{"name":"Notes"}`)
	ask(http.MethodPut, urls[0]+"/v1/brains/notes/documents?path=kettle.md", "", "application/octet-stream", "The kettle is green.")
	if found := ask(http.MethodPost, urls[1]+"/v1/brains/notes/search", "", "application/json", `{"query":"kettle"}`); !strings.Contains(found, "kettle.md") {
		t.Errorf("the other replica found %s", found)
	}
	// The proxy asks with the name of the replica.
	var health struct{ Ready bool }
	if err := json.Unmarshal([]byte(ask(http.MethodGet, urls[1]+"/healthz?ready", "replica-2:8787", "", "")), &health); err != nil || !health.Ready {
		t.Errorf("health %+v, error %v", health, err)
	}
}

// asked sends a request and returns the body of its answer.
func asked(t *testing.T, token, method, target, host, contentType, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(res.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		u, _ := url.Parse(target)
		t.Fatalf("%s %s: %s: %s", method, u.Path, res.Status, text.String())
	}
	return text.String()
}

// imageEnv returns the environment of the container image.
func imageEnv(t *testing.T) []string {
	t.Helper()
	data := filetest.Read(t, "../../tools/image/config.json")
	var config struct{ Env []string }
	if err := json.Unmarshal(data, &config); err != nil || len(config.Env) == 0 {
		t.Fatalf("%v: %s", err, data)
	}
	return config.Env
}
