package ingest

import (
	"testing"

	"evalctl/internal/sharedtest"
)

// BenchmarkFill fills brains of the reference daemon, in this process and in memory, with three
// LongMemEval haystacks and with five LoCoMo conversations.
func BenchmarkFill(b *testing.B) {
	for _, c := range []struct {
		name, file string
		mode       Mode
	}{
		{"longmemeval/bulk", "longmemeval/longmemeval_s_3.json", Bulk},
		{"longmemeval/replay", "longmemeval/longmemeval_s_3.json", Replay},
		{"locomo/bulk", "locomo/locomo5.json", Bulk},
		{"locomo/replay", "locomo/locomo5.json", Replay},
	} {
		b.Run(c.name, func(b *testing.B) {
			bench := open(b, sharedtest.Path(b, c.file))
			s := serve(b, nil)
			cfg := config(b, s.URL, c.mode)
			cfg.Concurrency = 16
			sessions := 0
			for b.Loop() {
				f, err := Fill(b.Context(), cfg, bench, all(bench)) // nothing is recorded
				if err != nil {
					b.Fatal(err)
				}
				sessions += f.Report.Sessions
			}
			b.ReportMetric(float64(sessions)/b.Elapsed().Seconds(), "sessions/s")
		})
	}
}
