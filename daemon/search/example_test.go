package search

import (
	"context"
	"fmt"

	"evalctl/daemon/search/document"
)

func Example() {
	index := New(nil)
	files := map[string]string{
		"trips/lisbon.md": "# Lisbon\n\n## Day 1\n\nWe rode the yellow tram up to Alfama.\n\n## Day 2\n\nRain, so we saw the tile museum.\n",
		"garden.md":       "---\ntags: [plants]\n---\nThe tomatoes need water.\n",
	}
	for path, content := range files {
		if doc, ok := document.Parse(path, content); ok {
			index.Put(doc)
		}
	}
	found, err := NewSearcher(index, Config{}).Search(context.Background(), Query{Text: "What museums did we see in Lisbon?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range found.Hits {
		fmt.Printf("%s [%s] %.2f\n", hit.ChunkID, hit.HeadingPath, hit.Score)
	}
	// Output:
	// trips/lisbon.md#1 [Lisbon > Day 2] 2.56
	// trips/lisbon.md#0 [Lisbon > Day 1] 0.71
}
