package reader_test

import (
	"context"
	"fmt"
	"log"

	"evalctl/daemon/protocol"
	"evalctl/daemon/reader"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

// Answer a question from two passages, and say where the answer comes from.
func Example() {
	prompt, err := reader.PromptFor(protocol.ReaderAugmented)
	if err != nil {
		log.Fatal(err)
	}
	passages := []search.Hit{
		{ChunkID: "berg.md#0", Path: "berg.md", Title: "Berg", Text: "Berg sold the red bicycle."},
		{ChunkID: "pets.md#0", Path: "pets.md", Title: "Pets", Text: "Pets of Ana:\n\n- Fig\n- Plum"},
	}
	request, err := prompt.Request(llm.FakeModel, reader.Question{Text: "How many pets does Ana have?"}, passages)
	if err != nil {
		log.Fatal(err)
	}

	answer := reader.NewAnswer(passages)
	request.Emit = func(delta string) error {
		fmt.Print(answer.Write(delta))
		return nil
	}
	if _, err = llm.NewFake().Complete(context.Background(), request); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Close())
	for _, c := range answer.Citations() {
		fmt.Printf("%s: %q\n", c.ChunkID, c.Quote)
	}
	// Output:
	// 2: Fig, Plum. Pets of Ana:
	// pets.md#0: "- Fig"
	// pets.md#0: "Pets of Ana:"
}
