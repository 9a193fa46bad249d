package main

import "testing"

// BenchmarkResident reports the memory of a daemon with 100,000 documents of 60 words, after 1,000
// searches: with the documents in memory, and in a home on disk.
func BenchmarkResident(b *testing.B) {
	for _, place := range []string{"memory", "home"} {
		b.Run(place, func(b *testing.B) {
			for b.Loop() {
				var args []string
				if place == "home" {
					args = []string{"--home", b.TempDir()} // a new one each time
				}
				d := startProcess(b, args...)
				d.fill(b, 100, 60)
				for range 1000 {
					d.post(b, "/v1/brains/notes/search", d.query())
				}
				b.ReportMetric(float64(resident(b, d.pid))/(1<<20), "MiB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
