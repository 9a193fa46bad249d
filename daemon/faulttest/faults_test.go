package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

const (
	replicas = 3
	// progress is how many writes must succeed from one fault to the next one.
	progress = 3 * clients
)

// fleet is replicas over one database, each with a network of its own to it.
type fleet struct {
	*world
	cluster  *postgrestest.Cluster
	replicas []*replica
	proxies  []*postgrestest.Proxy
	rng      *rand.Rand
	seed     uint64
}

func newFleet(t *testing.T, options postgrestest.Options) *fleet {
	t.Helper()
	cluster := postgrestest.NewWith(t, options)
	url := cluster.Database()
	var urls []string
	var proxies []*postgrestest.Proxy
	for i := range replicas {
		proxies = append(proxies, postgrestest.NewProxy(t, cluster.Addr()))
		urls = append(urls, proxies[i].URL(url))
	}
	f := newFleetAt(t, url, urls)
	f.cluster, f.proxies = cluster, proxies
	return f
}

// newFleetAt starts a replica for each of the URLs of a database.
func newFleetAt(t *testing.T, url string, urls []string) *fleet {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fleet{seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
	for i, url := range urls {
		f.replicas = append(f.replicas, startReplica(t, fmt.Sprintf("replica-%d", i), nil, "--store", url))
	}
	f.world = newWorld(t, brainsOfWorld, func() (urls []string) {
		for _, r := range f.replicas {
			urls = append(urls, r.URL())
		}
		return urls
	})
	f.truth = newTable(t, url)
	return f
}

// fast is a server that does not wait for the disk: its processes crash, the machine does not.
var fast = postgrestest.Options{Fast: true}

// test plays a number of rounds, each a fault that ends before the next one.
func (f *fleet) test(rounds int, fault func()) {
	f.t.Helper()
	f.play(context.Background(), f.seed, func() {
		f.rest()
		for range rounds {
			acked := f.counts.writes.Load()
			fault()
			f.rest()
			// Nothing is shown if nothing works.
			for begun := time.Now(); f.counts.writes.Load() < acked+progress; time.Sleep(10 * time.Millisecond) {
				if time.Since(begun) > f.settle {
					f.violated("%v after a fault there are fewer than %d writes", f.settle, progress)
					return
				}
			}
		}
	})
	f.report()
}

// rest lets the clients work for a moment.
func (f *fleet) rest() { time.Sleep(time.Duration(100+f.rng.IntN(200)) * time.Millisecond) }

// rounds returns how many faults to run.
func rounds(few, many int) int {
	if *full {
		return many
	}
	return few
}

func (f *fleet) any() int { return f.rng.IntN(len(f.replicas)) }

// TestKilledReplicas kills replicas at any instant.
func TestKilledReplicas(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fast)
	f.test(rounds(4, 100), func() {
		r := f.replicas[f.any()]
		r.kill()
		f.rest()
		r.start()
	})
}

// TestCrashedDatabase has the server lose all of its processes, as in a failover to a server with
// the same data.
func TestCrashedDatabase(t *testing.T) {
	longtest.Skip(t)
	onlyLong(t)
	f := newFleet(t, fast)
	f.test(rounds(2, 20), func() {
		f.cluster.Stop("immediate")
		f.rest()
		f.cluster.Start()
	})
}

// TestNetwork has the network fail between one replica, or all of them, and the database.
func TestNetwork(t *testing.T) {
	longtest.Skip(t)
	f := newFleet(t, fast)
	faults := []func(p *postgrestest.Proxy){
		func(p *postgrestest.Proxy) { p.Cut() },
		// The next answer is lost, which may be that of a commit.
		func(p *postgrestest.Proxy) { p.CutAfter(postgrestest.FromServer, f.rng.IntN(300)) },
		func(p *postgrestest.Proxy) { p.CutAfter(postgrestest.FromClient, f.rng.IntN(3000)) },
		func(p *postgrestest.Proxy) { p.Stall(postgrestest.FromBoth) },
		func(p *postgrestest.Proxy) { p.Stall(postgrestest.FromServer) },
		func(p *postgrestest.Proxy) {
			p.Stall(postgrestest.FromServer)
			f.rest()
			p.Cut()
		},
		func(p *postgrestest.Proxy) { p.Delay(5 * time.Millisecond) },
	}
	n := 0
	f.test(rounds(2*len(faults), 15*len(faults)), func() {
		fault := faults[n%len(faults)]
		n++
		if n%5 == 0 {
			for _, p := range f.proxies {
				fault(p)
			}
		} else {
			fault(f.proxies[f.any()])
		}
		f.rest()
		for _, p := range f.proxies {
			p.Restore()
		}
	})
}
