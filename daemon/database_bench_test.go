package daemon_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/internal/postgres/postgrestest"
)

// benchReplica is a daemon on a database, for requests of a bench client.
func benchReplica(b *testing.B, database string) *client {
	return &client{
		url:  startReplicaOn(b, database).url,
		http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// fill writes documents of 120 words, and returns some of their words for queries.
func (c *client) fill(b *testing.B, documents int) (queries []string) {
	b.Helper()
	c.createBrain(b)
	n := newNotes()
	const batch = 1000
	for from := 0; from < documents; from += batch {
		texts := make([]string, min(batch, documents-from))
		for i := range texts {
			texts[i] = n.text(120)
			words := strings.Fields(texts[i])
			queries = append(queries, strings.Join(words[10:14], " "))
		}
		c.batch(b, fmt.Sprintf("b%d", from), texts)
	}
	return queries
}

// BenchmarkReplicaSearch compares a search on a replica whose index is warm, of 1,000 documents,
// with the same search on files. They alternate, so that other load concerns both.
func BenchmarkReplicaSearch(b *testing.B) {
	files, _ := startBench(b, b.TempDir())
	replica := benchReplica(b, postgrestest.Database(b))
	queries := files.fill(b, 1000)
	replica.fill(b, 1000) // the same texts
	files.search(b, queries[0])
	replica.search(b, queries[0])
	b.Run("alternating", func(b *testing.B) {
		var onFiles, onReplica []float64
		for i := range b.N {
			query := queries[i%len(queries)]
			onFiles = append(onFiles, milliseconds(func() { files.search(b, query) }))
			onReplica = append(onReplica, milliseconds(func() { replica.search(b, query) }))
		}
		reportMedian(b, "fs-p50-ms", onFiles)
		reportMedian(b, "postgres-p50-ms", onReplica)
	})
}

// BenchmarkReplicaSeesWrite writes to one replica and then searches on the other, in a brain of
// 10,000 documents. It measures the search, which sees the write.
func BenchmarkReplicaSeesWrite(b *testing.B) {
	database := postgrestest.Database(b)
	first, second := benchReplica(b, database), benchReplica(b, database)
	queries := first.fill(b, 10_000)
	second.search(b, queries[0]) // builds the index
	b.Run("search", func(b *testing.B) {

		took := make([]float64, 0, b.N)
		for i := range b.N {
			first.put(b, fmt.Sprintf("new/%d.md", i), fmt.Sprintf("fresh%dx %s", i, queries[i%len(queries)]))
			took = append(took, milliseconds(func() { second.search(b, fmt.Sprintf("fresh%dx", i)) }))
		}
		reportMedian(b, "p50-ms", took)
	})
}

// BenchmarkReplicaPut compares PUTs of 1 KiB over HTTP, each client to a brain of its own, with
// pgx, which inserts and commits the same documents: alone, and in an HTTP handler that does
// nothing else. All are durable. They alternate, so that other load concerns all.
func BenchmarkReplicaPut(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) { benchPut(b, clients) })
	}
}

func benchPut(b *testing.B, clients int) {
	database := postgrestest.Database(b) + "&pool_max_conns=20"
	replica := benchReplica(b, database)
	for i := range clients {
		replica.send(b, "POST", "/v1/brains", "application/json", fmt.Appendf(nil, `{"id":"brain%d"}`, i))
	}
	pool, err := pgxpool.New(b.Context(), database)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(b.Context(), `CREATE TABLE bare (path text COLLATE "C" PRIMARY KEY, data bytea)`)
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("x"), 1024)
	put := func(client, i int) {
		path := fmt.Sprintf("/v1/brains/brain%d/documents?path=notes/%d.md", client, i)
		replica.send(b, "PUT", path, "application/octet-stream", data)
	}
	insertAt := func(path string, data []byte) {
		if _, err := pool.Exec(b.Context(), "INSERT INTO bare VALUES ($1, $2)", path, data); err != nil {
			b.Error(err)
		}
	}
	insert := func(client, i int) { insertAt(fmt.Sprintf("alone/%d/%d.md", client, i), data) }
	handler := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		insertAt(r.URL.Query().Get("path"), body)
	}))
	defer handler.Close()
	bare := &client{url: handler.URL, http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	handle := func(client, i int) {
		bare.send(b, "PUT", fmt.Sprintf("/?path=http/%d/%d.md", client, i), "application/octet-stream", data)
	}
	const each = 50 // writes of a client in turn
	inTurn := func(round int, write func(client, i int)) float64 {
		return 1000 * milliseconds(func() {
			var wg sync.WaitGroup
			for client := range clients {
				wg.Go(func() {
					for i := range each {
						write(client, round*each+i)
					}
				})
			}
			wg.Wait()
		}) / float64(each*clients)
	}
	inTurn(0, put) // every connection has its plans then
	inTurn(0, handle)
	inTurn(0, insert)
	b.ResetTimer()
	var puts, handles, inserts []float64
	for i := range b.N {
		puts = append(puts, inTurn(i+1, put))
		handles = append(handles, inTurn(i+1, handle))
		inserts = append(inserts, inTurn(i+1, insert))
	}
	reportMedian(b, "put-µs", puts)
	reportMedian(b, "handler-µs", handles)
	reportMedian(b, "pgx-µs", inserts)
}

func milliseconds(do func()) float64 {
	start := time.Now()
	do()
	return float64(time.Since(start).Microseconds()) / 1000
}

func reportMedian(b *testing.B, unit string, took []float64) {
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], unit)
}
