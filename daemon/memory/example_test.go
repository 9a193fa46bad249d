package memory_test

import (
	"context"
	"fmt"
	"log"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/llm"
)

// Remember a document and ask a question that it answers.
func Example() {
	ctx := context.Background()
	brains, err := brain.Open(ctx, brain.Config{
		Catalog:   new(brain.MemoryCatalog),
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer brains.Close()
	if _, err := brains.Create(ctx, "", protocol.CreateBrain{ID: "notes"}); err != nil {
		log.Fatal(err)
	}
	h, err := brains.Find("notes")
	if err != nil {
		log.Fatal(err)
	}

	memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel})
	if err != nil {
		log.Fatal(err)
	}
	_, err = memories.CreateDocument(ctx, h, protocol.CreateDocument{Content: "# Home\n\nAna lives in Tromsø."})
	if err != nil {
		log.Fatal(err)
	}
	question := protocol.AskRequest{Question: "Where does Ana live?"}
	err = memories.Ask(ctx, h, question, func(_ string, payload any) error {
		switch event := payload.(type) {
		case protocol.CitationEvent:
			fmt.Printf("cited from %s: %s\n", event.DocumentID, event.Quote)
		case protocol.DoneEvent:
			fmt.Println("answer:", event.Answer)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// cited from home.md: Ana lives in Tromsø.
	// answer: Ana lives in Tromsø.
}
