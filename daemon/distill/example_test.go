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
	fmt.Println(facts[0].Text, facts[0].Message, use.Model, err)
	// Output:
	// I moved to Porto last Saturday. 0 fake <nil>
}
