package store_test

import (
	"context"
	"fmt"

	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

func ExampleStore_Batch() {
	ctx := context.Background()
	s := memstore.Open(nil)
	defer s.Close()
	cancel := s.Subscribe(func(ev store.ChangeEvent) { fmt.Println(ev.Kind, ev.Path, ev.Reason) })
	defer cancel()

	err := s.Batch(ctx, store.BatchOptions{Reason: "file the draft"}, func(b *store.Batch) error {
		if err := b.Write(ctx, "drafts/tea.md", []byte("# Tea\n")); err != nil {
			return err
		}
		if err := b.Append(ctx, "drafts/tea.md", []byte("Steep for 3 minutes.\n")); err != nil {
			return err
		}
		return b.Rename(ctx, "drafts/tea.md", "notes/tea.md")
	})
	if err != nil {
		fmt.Println(err)
	}
	data, err := s.Read(ctx, "notes/tea.md")
	fmt.Printf("%s%v\n", data, err)
	_, err = s.Read(ctx, "drafts/tea.md")
	fmt.Println(err)
	// Output:
	// created notes/tea.md file the draft
	// # Tea
	// Steep for 3 minutes.
	// <nil>
	// read drafts/tea.md: not found
}
