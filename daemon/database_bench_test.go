package daemon_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

func milliseconds(do func()) float64 {
	start := time.Now()
	do()
	return float64(time.Since(start).Microseconds()) / 1000
}

func reportMedian(b *testing.B, unit string, took []float64) {
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], unit)
}
