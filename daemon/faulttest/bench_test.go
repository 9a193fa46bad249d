package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/postgres/postgrestest"
)

// BenchmarkSearches sends searches of 12 clients to one replica, and to three in turn, all on this
// machine. A replica keeps one processor busy at most, so that three have as many as there are. It
// reports how often a session of the database was seen to wait for a lock.
func BenchmarkSearches(b *testing.B) {
	database := postgrestest.New(b).Database()
	var brains []*client.Brain
	for _, replicas := range []int{1, 3} {
		for len(brains) < replicas {
			r := startReplica(b, fmt.Sprint("replica-", len(brains)), []string{"GOMAXPROCS=1"}, "--store", database)
			c, err := client.New(r.URL(), &client.Options{HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}})
			if err != nil {
				b.Fatal(err)
			}
			if len(brains) == 0 {
				fillBrain(b, c)
			}
			brains = append(brains, c.Brain("words"))
			searchFor(b, brains[len(brains)-1], 0) // builds the index
		}
		b.Run(fmt.Sprint(replicas), func(b *testing.B) { benchSearches(b, brains[:replicas], database) })
	}
}

func benchSearches(b *testing.B, brains []*client.Brain, database string) {
	watching, stop := context.WithCancel(b.Context())
	var watched sync.WaitGroup
	waits := 0
	conn, err := pgx.Connect(b.Context(), database)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context()))
	watched.Go(func() { waits = lockWaits(watching, b, conn) })
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 12 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				searchFor(b, brains[int(i)%len(brains)], int(i))
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "searches/s")
	stop()
	watched.Wait()
	b.ReportMetric(float64(waits), "lock-waits")
}

// lockWaits looks at the sessions of the server until ctx ends.
func lockWaits(ctx context.Context, b *testing.B, conn *pgx.Conn) (waits int) {
	for ctx.Err() == nil {
		var n int
		err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type IN ('Lock', 'LWLock')").Scan(&n)
		if err != nil && ctx.Err() == nil {
			b.Error(err)
			return waits
		}
		waits += n
		time.Sleep(5 * time.Millisecond)
	}
	return waits
}

// words are drawn with a few that are frequent, as in texts.
func words(rng *rand.Rand, n int) string {
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "w%dx ", int(20000*rng.Float64()*rng.Float64()*rng.Float64()))
	}
	return text.String()
}

// fillBrain writes 10,000 documents of 120 words.
func fillBrain(b *testing.B, c *client.Client) {
	b.Helper()
	if _, err := c.CreateBrain(b.Context(), protocol.CreateBrain{ID: "words", Name: "words"}); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		batch := protocol.Batch{Reason: "fill"}
		for n := range 1000 {
			batch.Ops = append(batch.Ops, protocol.BatchOp{
				Type: protocol.OpWrite, Path: fmt.Sprintf("%d/%d.md", i, n), Content: []byte(words(rng, 120)),
			})
		}
		if _, err := c.Brain("words").Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

func searchFor(b *testing.B, brain *client.Brain, i int) {
	query := words(rand.New(rand.NewPCG(uint64(i), 3)), 6)
	found, err := brain.Search(b.Context(), protocol.SearchRequest{Query: query, TopK: 10})
	if err != nil || len(found.Chunks) == 0 {
		b.Errorf("search for %q: %d results, %v", query, len(found.Chunks), err)
	}
}
