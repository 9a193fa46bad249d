package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/internal/postgres/postgrestest"
)

// TestGroupFaults cuts and stalls the network, and crashes the server, while many brains are
// written to. Acknowledged writes must be there, and failed ones must not, unless their outcome is
// unknown.
func TestGroupFaults(t *testing.T) {
	t.Parallel()
	const brains = 16
	cluster := postgrestest.New(t)
	conn := cluster.Database()
	p, proxied := postgrestest.Behind(t, conn)
	db, direct := openDB(t, proxied), openDB(t, conn)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var seen []*store.Store
	outcomes := make([]map[string]error, brains)
	for i := range brains {
		brain := newBrain(t, direct)
		s := openStore(t, db, brain)
		seen, outcomes[i] = append(seen, openStore(t, direct, brain)), map[string]error{}
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				outcomes[i][fmt.Sprint(n)] = s.Write(t.Context(), fmt.Sprint("one/", n), []byte("content"))
			}
		})
	}
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	for round := range 12 {
		before := seen[0].Seq()
		eventually(t, "writes go on", func() bool { return seen[0].Sync(t.Context()) == nil && seen[0].Seq() > before+2 })
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
	wg.Wait()
	p.Restore()
	for i, s := range seen {
		eventually(t, "a sync after the faults", func() bool { return s.Sync(t.Context()) == nil })
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
