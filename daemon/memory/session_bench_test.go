package memory

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/daemon/protocol"
)

// BenchmarkAddMessages reports messages per second, one or 500 in a request, to sessions that grow:
// of one client, and of eight with a session each.
func BenchmarkAddMessages(b *testing.B) {
	const content = "I paid 40 euros for the green kettle in Lisbon, and my sister Anna paid 25 for hers " +
		"the week before, in another shop."
	for _, kind := range []string{"fs", "git"} {
		for _, size := range []int{1, protocol.MaxSessionMessages} {
			for _, clients := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%d in a request/%d clients", kind, size, clients), func(b *testing.B) {
					s := openWith(b, onDisk(b.TempDir())[kind], Config{})
					batch := slices.Repeat([]protocol.SessionMessage{user(content)}, size)
					var left atomic.Int64
					left.Store(int64(b.N))
					b.ResetTimer()
					var wg sync.WaitGroup
					for c := range clients {
						wg.Go(func() {
							for left.Add(-1) >= 0 {
								s.say(b, fmt.Sprint("s", c), batch...)
							}
						})
					}
					wg.Wait()
					b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "messages/s")
				})
			}
		}
	}
}
