package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

// TestGroupFaults cuts and stalls the network, and crashes the server, while many brains are
// written to, or one by many. Acknowledged writes must be there, and failed ones must not, unless
// their outcome is unknown.
func TestGroupFaults(t *testing.T) {
	t.Parallel()
	t.Run("many brains", func(t *testing.T) { groupFaults(t, 16, 1) })
	t.Run("one brain", func(t *testing.T) { groupFaults(t, 1, 16) })
}

func groupFaults(t *testing.T, brains, writers int) {
	t.Helper()
	t.Parallel()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	conn := cluster.Database()
	p, proxied := postgrestest.Behind(t, conn)
	db, direct := openDB(t, proxied), openDB(t, conn)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var used, seen []*store.Store
	var mu sync.Mutex // guards the outcomes
	outcomes := make([]map[string]error, brains)
	for i := range brains {
		brain := newBrain(t, direct)
		seen, outcomes[i] = append(seen, openStore(t, direct, brain)), map[string]error{}
		used = append(used, openStore(t, db, brain))
	}
	for i := range brains * writers {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprint(i, "-", n)
				err := used[i%brains].Write(t.Context(), "one/"+name, []byte("content"))
				mu.Lock()
				outcomes[i%brains][name] = err
				mu.Unlock()
			}
		})
	}
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	for round := range 12 {
		before := seen[0].Seq()
		awaittest.Until(t, "writes go on", func() bool { return seen[0].Sync(t.Context()) == nil && seen[0].Seq() > before+2 })
		switch {
		case round == 6:
			cluster.Stop("immediate")
			cluster.Start()
		case round%3 == 0:
			p.Stall(postgrestest.FromServer)
			time.Sleep(50 * time.Millisecond) // longer than others wait for a group
			p.Restore()
		case round%3 == 1:
			p.CutAfter(postgrestest.FromServer, rng.IntN(300))
		default:
			p.CutAfter(postgrestest.FromClient, rng.IntN(3000))
		}
	}
	close(stop)
	awaittest.Wait(t, "the goroutines", wg.Wait)
	p.Restore()
	for i, s := range seen {
		awaittest.Until(t, "a sync after the faults", func() bool { return s.Sync(t.Context()) == nil })
		checkOutcomes(t, s, outcomes[i:i+1])
		checkOrder(t, content(t, s).Events)
	}
	var groups int
	err := direct.Pool().QueryRow(t.Context(), `SELECT count(*) FROM (
		SELECT FROM evalctl.changes GROUP BY xmin::text HAVING count(*) > 1) AS g`).Scan(&groups)
	if err != nil || groups < 10 {
		t.Errorf("%d transactions had several writes: %v", groups, err)
	}
}
