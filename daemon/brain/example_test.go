package brain_test

import (
	"context"
	"fmt"
	"log"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

// Create a brain in memory, write a document and search it.
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

	b, err := brains.Create(ctx, "", protocol.CreateBrain{Name: "Ana's notes"})
	if err != nil {
		log.Fatal(err)
	}
	h, err := brains.Find(b.ID)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := st.Write(ctx, "home.md", []byte("Ana lives in Tromsø.")); err != nil {
		log.Fatal(err)
	}
	found, err := h.Search(ctx, search.Query{Text: "Where does Ana live?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(b.ID, hit.ChunkID, hit.Text)
	}
	// Output: ana-s-notes home.md#0 Ana lives in Tromsø.
}
