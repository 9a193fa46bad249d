package client_test

import (
	"context"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func Example() {
	url, _, stop := daemon()
	defer stop()
	ctx := context.Background()

	c, err := client.New(url, &client.Options{Token: "my-token", UserAgent: "example/1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.CreateBrain(ctx, protocol.CreateBrain{ID: "notes", Name: "Notes"}); err != nil {
		fmt.Println(err)
		return
	}
	notes := c.Brain("notes")
	if err := notes.Write(ctx, "tea.md", []byte("Steep green tea for 3 minutes.\n")); err != nil {
		fmt.Println(err)
		return
	}
	done, err := notes.Ask(ctx, protocol.AskRequest{Question: "How long does green tea steep?"}, nil)
	fmt.Println(done.Answer, err)

	_, err = notes.Read(ctx, "coffee.md")
	fmt.Println(client.IsNotFound(err), err)
	// Output:
	// Steep green tea for 3 minutes. <nil>
	// true GET /v1/brains/notes/documents/read: 404 Not Found: read coffee.md: not found
}

func ExampleBrain_Documents() {
	url, _, stop := daemon()
	defer stop()
	ctx := context.Background()

	c, err := client.New(url, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.CreateBrain(ctx, protocol.CreateBrain{ID: "notes"}); err != nil {
		fmt.Println(err)
		return
	}
	notes := c.Brain("notes")
	for _, text := range []string{"# Green tea\n\nSteep for 3 minutes.", "# Black tea\n\nSteep for 4 minutes.", "# Coffee\n\nNever boil it."} {
		made, err := notes.CreateDocument(ctx, protocol.CreateDocument{Content: text, Tags: []string{"kitchen"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(made.ID)
	}
	for page := (client.DocumentPage{Limit: 2}); ; {
		list, err := notes.Documents(ctx, page)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, d := range list.Items {
			fmt.Println(d.Title, d.Metadata["tags"])
		}
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			return
		}
	}
	// Output:
	// green-tea.md
	// black-tea.md
	// coffee.md
	// Black tea kitchen
	// Coffee kitchen
	// Green tea kitchen
}
