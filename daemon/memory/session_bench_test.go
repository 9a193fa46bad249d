package memory

import (
	"fmt"
	"slices"
	"testing"

	"evalctl/daemon/protocol"
)

// BenchmarkAddMessages reports messages per second, one or 500 in a request, to one session that
// grows.
func BenchmarkAddMessages(b *testing.B) {
	for _, kind := range []string{"fs", "git"} {
		for _, size := range []int{1, protocol.MaxSessionMessages} {
			b.Run(fmt.Sprint(kind, "/", size), func(b *testing.B) {
				s := openWith(b, onDisk(b.TempDir())[kind], Config{})
				one := protocol.SessionMessage{Role: protocol.RoleUser, Content: "I paid 40 euros for the green kettle in Lisbon, and " +
					"my sister Anna paid 25 for hers the week before, in another shop."}
				batch := slices.Repeat([]protocol.SessionMessage{one}, size)
				for b.Loop() {
					s.say(b, "s", batch...)
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
