package distill_test

import (
	"context"
	"fmt"
	"time"

	"evalctl/daemon/distill"
	"evalctl/internal/llm"
)

func Example() {
	d, err := distill.New(llm.NewFake(), llm.FakeModel)
	if err != nil {
		fmt.Println(err)
		return
	}
	facts, use, err := d.Facts(context.Background(), []distill.Message{
		{Role: distill.RoleUser, Name: "Ana", Text: "Hi! I moved to Porto last Saturday.", At: time.Date(2024, 5, 8, 9, 0, 0, 0, time.UTC)},
		{Role: distill.RoleAssistant, Text: "How do you like it?"},
	})
	for _, f := range facts {
		fmt.Printf("message %d, %s: %s\n", f.Message, f.Date.Format(time.DateOnly), f.Text)
	}
	fmt.Println(use.Model, err)
	// Output:
	// message 0, 2024-05-04: Ana: I moved to Porto last Saturday (4 May 2024).
	// fake <nil>
}
