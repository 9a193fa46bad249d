package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"evalctl/daemon/httpapi"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// startReplica starts a daemon process on a database and returns its URL. When the test ends, the
// process must end without an error.
func startReplica(t testing.TB, database string, args ...string) string {
	t.Helper()
	url, cmd := serveProcess(t, []string{"SVC_STORE=" + database, "SVC_HOME=", "SVC_LLM_PROVIDER=fake"}, args...)
	t.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("a replica ended with %v:\n%s", err, cmd.Stderr)
		}
	})
	return url
}

// roundRobin serves a proxy that sends each request to another one of the servers, and counts those
// that each got.
func roundRobin(t testing.TB, urls ...string) (proxy string, requests []atomic.Int64) {
	t.Helper()
	requests = make([]atomic.Int64, len(urls))
	var proxies []*httputil.ReverseProxy
	for _, server := range urls {
		target, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, &httputil.ReverseProxy{
			FlushInterval: -1, // event streams
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host
			},
		})
	}
	var next atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(next.Add(1)) % len(proxies)
		requests[i].Add(1)
		proxies[i].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL, requests
}

// TestReplicasConform: to clients, two replicas behind a proxy that sends each request to another
// one are one daemon that keeps the protocol.
func TestReplicasConform(t *testing.T) {
	longtest.Skip(t)
	if raceDetector {
		t.Skip("package faulttest has replicas whose clients race")
	}
	database := postgrestest.Database(t)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	env := append(os.Environ(), "SVC_STORE=")
	for _, k := range []struct{ name, tenant, role, variable string }{
		{"full", "conformance", "admin", "SVC_TOKEN"},
		{"read-only", "conformance", "reader", "SVC_TOKEN_READONLY"},
		{"other", "another", "admin", "SVC_TOKEN_OTHER_TENANT"},
	} {
		token := httpapi.NewToken()
		err := httpapi.AddKey(keys, httpapi.Key{
			Name: k.name, Tenant: k.tenant, SHA256: httpapi.HashToken(token),
			Brains: []string{httpapi.AllBrains}, Roles: []string{k.role},
		}, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, k.variable+"="+token)
	}
	proxy, requests := roundRobin(t,
		startReplica(t, database, "--keys", keys), startReplica(t, database, "--keys", keys))
	cmd := exec.CommandContext(t.Context(), "evalctl", "conformance", "--endpoint", proxy, "--mcp", proxy+"/mcp")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if fields := strings.Fields(line); len(fields) == 6 && fields[5] == "total" {
			t.Logf("kept %s MUST and %s SHOULD", fields[0], fields[2])
			if fields[1] != "0" || fields[3] != "0" {
				t.Errorf("%s MUST and %s SHOULD are broken:\n%s", fields[1], fields[3], out)
			}
		}
	}
	for i := range requests {
		if n := requests[i].Load(); n < 1000 {
			t.Errorf("replica %d got only %d requests", i, n)
		}
	}
}
