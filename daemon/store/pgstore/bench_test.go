package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

// The benchmarks compare the store with pgx alone, which inserts and commits the same documents, on
// the same server. Both are durable.

const benchSize = 1024

func BenchmarkWrite(b *testing.B) {
	db := openDB(b, postgrestest.Database(b)+"&pool_max_conns=20")
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("pgstore/%d", clients), func(b *testing.B) { benchStores(b, db, clients, clients) })
		if clients > 1 {
			b.Run(fmt.Sprintf("pgstore-one-brain/%d", clients), func(b *testing.B) { benchStores(b, db, clients, 1) })
		}
		b.Run(fmt.Sprintf("pgx/%d", clients), func(b *testing.B) { benchInserts(b, db, clients) })
	}
}

// benchStores writes new documents: each client to a brain of its own, or all to the same one.
func benchStores(b *testing.B, db *pgstore.DB, clients, brains int) {
	var stores []*store.Store
	for range brains {
		stores = append(stores, openStore(b, db, newBrain(b, db)))
	}
	benchClients(b, clients, func(ctx context.Context, client, i int, data []byte) error {
		return stores[client%brains].Write(ctx, fmt.Sprintf("notes/%d-%d.md", client, i), data)
	})
}

func benchInserts(b *testing.B, db *pgstore.DB, clients int) {
	_, err := db.Pool().Exec(b.Context(), `DROP TABLE IF EXISTS bare;
		CREATE TABLE bare (client int, path text COLLATE "C", data bytea, PRIMARY KEY (client, path))`)
	if err != nil {
		b.Fatal(err)
	}
	benchClients(b, clients, func(ctx context.Context, client, i int, data []byte) error {
		_, err := db.Pool().Exec(ctx, "INSERT INTO bare VALUES ($1, $2, $3)", client, fmt.Sprintf("notes/%d.md", i), data)
		return err
	})
}

// benchClients divides b.N calls among clients.
func benchClients(b *testing.B, clients int, write func(ctx context.Context, client, i int, data []byte) error) {
	data := bytes.Repeat([]byte("x"), benchSize)
	run := func(from, to int) {
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				for i := from + client; i < to; i += clients {
					if err := write(b.Context(), client, i, data); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	run(-50*clients, 0) // every connection has its plans then
	b.ResetTimer()
	run(0, b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkBatch writes 1,024 documents: in one commit, and one after the other.
func BenchmarkBatch(b *testing.B) {
	const documents = 1024
	db := openDB(b, postgrestest.Database(b))
	data := bytes.Repeat([]byte("x"), benchSize)
	ops := func(i int) (ops []store.Op) {
		for n := range documents {
			ops = append(ops, store.Op{Kind: store.OpWrite, Path: fmt.Sprintf("%d/%d.md", i, n), Data: data})
		}
		return ops
	}
	b.Run("together", func(b *testing.B) {
		s := openStore(b, db, newBrain(b, db))
		for i := 0; b.Loop(); i++ {
			if err := s.Apply(b.Context(), store.Commit{Ops: ops(i)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apart", func(b *testing.B) {
		s := openStore(b, db, newBrain(b, db))
		for i := 0; b.Loop(); i++ {
			for _, op := range ops(i) {
				if err := s.Write(b.Context(), op.Path, op.Data); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
