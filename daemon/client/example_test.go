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
