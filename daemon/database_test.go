package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
)

// replica is a daemon on a database.
type replica struct {
	testing.TB
	url string
}

// startReplicaOn starts a daemon on a database, and ends it with the test.
func startReplicaOn(tb testing.TB, database string) *replica {
	tb.Helper()
	return &replica{tb, serve(tb, daemon.Config{Store: database, Reader: llm.NewFake(), ReaderModel: llm.FakeModel}).url}
}

// send returns the response and its body.
func (r *replica) send(method, path, body string) (*http.Response, string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if method == http.MethodPut || strings.Contains(path, "/documents/append?") {
		req.Header.Set("Content-Type", protocol.TypeBytes)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return res, string(data)
}

func (r *replica) expect(status int, method, path, body string) (*http.Response, string) {
	r.Helper()
	res, got := r.send(method, path, body)
	if res.StatusCode != status {
		r.Errorf("%s %s: got %d %s, want %d", method, path, res.StatusCode, got, status)
	}
	return res, got
}

// health waits for a state: a daemon on a busy machine takes a while to reach its database.
func (r *replica) health(want protocol.Health) {
	r.Helper()
	awaittest.Until(r, fmt.Sprintf("the health %+v", want), func() bool {
		_, body := r.expect(http.StatusOK, "GET", "/healthz", "")
		var got protocol.Health
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			r.Fatalf("health: %s: %v", body, err)
		}
		return got == want
	})
}

// TestBusyDatabase: a daemon all of whose connections are in use is ready as long as the database
// answers.
func TestBusyDatabase(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	proxy, database := postgrestest.Proxied(t)
	r := startReplicaOn(t, database+"&pool_max_conns=4")
	r.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"notes"}`)
	const document = "/v1/brains/notes/documents?path=a.md"
	r.expect(http.StatusNoContent, "PUT", document, "a")
	other, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	if _, err := other.Exec(t.Context(), "BEGIN; LOCK TABLE evalctl.documents"); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() { r.send("GET", "/v1/brains/notes/documents/read?path=a.md", "") })
	}
	awaittest.Until(t, "four reads that wait for a lock", func() bool {
		blocked := 0
		err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
		return blocked == 4
	})
	r.health(protocol.Health{OK: true, Ready: true, Database: protocol.DatabaseOK})
	r.expect(http.StatusOK, "GET", "/healthz?ready", "")
	// All stay in use, but nothing answers any longer.
	proxy.Stall(postgrestest.FromBoth)
	r.health(protocol.Health{OK: true, Database: protocol.DatabaseUnavailable})
	proxy.Cut()
	awaittest.Wait(t, "waiting", waiting.Wait)
}

// TestDatabaseOutage: without its database a daemon lives, is not ready, and asks clients to try
// again. It recovers by itself.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	r := startReplicaOn(t, cluster.Database()+"&pool_max_conns=4")
	r.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"notes"}`)
	const document = "/v1/brains/notes/documents?path=a.md"
	r.expect(http.StatusNoContent, "PUT", document, "before the crash")
	r.health(protocol.Health{OK: true, Ready: true, Database: protocol.DatabaseOK})
	r.expect(http.StatusOK, "GET", "/healthz?ready", "")

	cluster.Stop("immediate")
	r.health(protocol.Health{OK: true, Database: protocol.DatabaseUnavailable})
	// A write on a connection from before the crash would wait for 15 s to learn what became of it.
	for range 4 {
		r.expect(http.StatusServiceUnavailable, "GET", "/v1/brains/notes/documents/read?path=a.md", "")
	}
	for _, request := range [][3]string{
		{"GET", "/healthz?ready"},
		{"GET", "/v1/brains/notes/documents/read?path=a.md"},
		{"PUT", document, "during the outage"},
		{"GET", "/v1/brains/notes/search?q=crash"},
		{"GET", "/v1/brains/notes/events"},
		{"GET", "/v1/brains"},
		{"GET", "/v1/brains/other"},
		{"POST", "/v1/brains", `{"id":"other"}`},
		{"DELETE", "/v1/brains/notes/documents?path=a.md"},
	} {
		res, body := r.expect(http.StatusServiceUnavailable, request[0], request[1], request[2])
		if res.Header.Get("Retry-After") == "" || !strings.Contains(body, `"code":"store_unavailable"`) ||
			strings.Contains(body, "svc") {
			t.Errorf("%s %s: %s, header %v", request[0], request[1], body, res.Header)
		}
	}

	cluster.Start()
	r.health(protocol.Health{OK: true, Ready: true, Database: protocol.DatabaseOK})
	if _, body := r.expect(http.StatusOK, "GET", "/v1/brains/notes/documents/read?path=a.md", ""); body != "before the crash" {
		t.Errorf("after the outage the document is %q", body)
	}
	r.expect(http.StatusNoContent, "PUT", document, "after the outage")
	if _, body := r.expect(http.StatusOK, "GET", "/v1/brains/notes/search?q=outage", ""); !strings.Contains(body, "after the outage") {
		t.Errorf("search found %s", body)
	}
}

// TestReplicasSeeEachOther: a request that follows an acknowledged one sees its effect on every
// replica, whichever brain has the name by then.
func TestReplicasSeeEachOther(t *testing.T) {
	t.Parallel()
	defer http.DefaultClient.CloseIdleConnections()
	database := postgrestest.Database(t)
	a, b := startReplicaOn(t, database), startReplicaOn(t, database)
	for range 3 {
		a.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"notes","slug":"my-notes"}`)
		b.expect(http.StatusNotFound, "GET", "/v1/brains/notes/documents/read?path=a.md", "")
		b.expect(http.StatusNoContent, "PUT", "/v1/brains/my-notes/documents?path=a.md", "first")
		a.expect(http.StatusNoContent, "PUT", "/v1/brains/notes/documents?path=a.md", "second")
		if _, body := b.expect(http.StatusOK, "GET", "/v1/brains/notes/documents/read?path=a.md", ""); body != "second" {
			t.Errorf("read %q", body)
		}
		b.expect(http.StatusConflict, "POST", "/v1/brains", `{"id":"my-notes"}`)
		// The brain is replaced on one replica, while the other one knows the old one.
		a.delete("notes")
		a.expect(http.StatusCreated, "POST", "/v1/brains", `{"id":"notes"}`)
		b.expect(http.StatusNoContent, "PUT", "/v1/brains/notes/documents?path=b.md", "in the new brain")
		if _, body := a.expect(http.StatusOK, "GET", "/v1/brains/notes/documents?recursive=true", ""); strings.Contains(body, "a.md") ||
			!strings.Contains(body, "b.md") {
			t.Errorf("the new brain has %s", body)
		}
		b.expect(http.StatusNotFound, "GET", "/v1/brains/my-notes", "")
		if _, body := b.expect(http.StatusOK, "GET", "/v1/brains/notes/search?q=new", ""); !strings.Contains(body, "b.md") {
			t.Errorf("search found %s", body)
		}
		b.delete("notes")
		a.expect(http.StatusNotFound, "PUT", "/v1/brains/notes/documents?path=c.md", "gone")
		a.expect(http.StatusNotFound, "GET", "/v1/brains/notes/search?q=new", "")
		if _, body := a.expect(http.StatusOK, "GET", "/v1/brains", ""); strings.Contains(body, `"notes"`) {
			t.Errorf("the list has %s", body)
		}
	}
}

func (r *replica) delete(id string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodDelete, r.url+"/v1/brains/"+id, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("X-Confirm-Delete", "yes")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		r.Errorf("delete brain %s: status %d", id, res.StatusCode)
	}
}
