package report

import (
	"io"
	"testing"
)

// BenchmarkReports renders a result with 10,000 questions, of which a fifth did not pass.
func BenchmarkReports(b *testing.B) {
	run := runOf(10_000)
	for name, render := range map[string]func() error{
		"JUnit":       func() error { return JUnit(io.Discard, run) },
		"Markdown":    func() error { return Markdown(io.Discard, run, MaxSummary) },
		"Annotations": func() error { return Annotations(io.Discard, run, ".") },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := render(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
