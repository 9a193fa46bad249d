package main

import (
	"fmt"
	"testing"
)

// BenchmarkMCP measures calls of tools of one client that waits for each reply, with the daemon in
// the process that it has started (own), and in that of another client of the home (shared).
func BenchmarkMCP(b *testing.B) {
	for _, where := range []string{"own", "shared"} {
		home := b.TempDir()
		client := startAgent(b, "--home", home)
		if where == "shared" {
			owner := client
			defer owner.end()
			client = startAgent(b, "--home", home)
		}
		defer client.end()
		notes := 0
		b.Run("remember/"+where, func(b *testing.B) {
			for b.Loop() {
				notes++
				if err := client.remember(fmt.Sprint("note", notes)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("search/"+where, func(b *testing.B) {
			for b.Loop() {
				if _, err := client.call("memory_search", map[string]any{"query": "green kettle"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
