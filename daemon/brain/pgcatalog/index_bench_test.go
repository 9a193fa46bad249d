package pgcatalog_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/postgres/postgrestest"
)

// BenchmarkIndexOfReplica measures the first search of a replica in a brain of 100,000 documents of
// one passage each: with the index built from the documents, from a snapshot, and from a snapshot
// after which 2,000 documents were changed. It reports the memory of the index and the size of the
// snapshot.
func BenchmarkIndexOfReplica(b *testing.B) {
	const chunks, changed = 100_000, 2000
	url := postgrestest.Database(b)
	one := openReplica(b, url)
	if _, err := one.Create(b.Context(), "", protocol.CreateBrain{ID: "a"}); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	write := func(to *replica, count int) {
		for from := 0; from < count; from += 1000 {
			documents := map[string]string{}
			for i := from; i < from+1000; i++ {
				documents[fmt.Sprintf("d%06d.md", i)] = passage(r, i)
			}
			to.write(b, "a", documents)
		}
	}
	write(one, chunks)
	one.close(b)
	for _, from := range []string{"documents", "snapshot", "changes"} {
		b.Run(from, func(b *testing.B) {
			b.StopTimer()
			var size int64
			for range b.N {
				two := openReplica(b, url)
				switch from {
				case "documents":
					two.exec(b, "DELETE FROM evalctl.snapshots")
				case "changes":
					writer := openReplica(b, url)
					write(writer, changed)
					writer.close(b)
				}
				before := liveHeap()
				b.StartTimer()
				if got := two.search(b, "a", "number77"); got != "d000077.md" {
					b.Fatalf("found %q", got)
				}
				b.StopTimer()
				b.ReportMetric(float64(liveHeap()-before)/chunks, "heap-B/chunk")
				two.close(b) // saves the index, unless it is saved
			}
			three := openReplica(b, url)
			defer three.close(b)
			if err := three.db.Pool().QueryRow(b.Context(), "SELECT size FROM evalctl.snapshots").Scan(&size); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size)/chunks, "stored-B/chunk")
		})
	}
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// passage is a text of about 1,000 bytes with words as frequent as in English.
func passage(r *rand.Rand, i int) string {
	zipf := rand.NewZipf(r, 1.1, 4, 50_000)
	var text strings.Builder
	fmt.Fprintf(&text, "# Note\n\nnumber%d", i)
	for text.Len() < 1000 {
		fmt.Fprintf(&text, " w%d", zipf.Uint64())
	}
	return text.String()
}
