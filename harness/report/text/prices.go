package text

import (
	"fmt"

	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// Prices prints the prices of models.
func Prices(t *terminal.Terminal, list llm.PriceList) {
	rows := [][]string{{"model", "input", "output", "of", "source"}}
	for _, l := range list.Models {
		rows = append(rows, []string{
			terminal.Line(l.Model), l.Input.String(), l.Output.String(), terminal.Line(l.Date), terminal.Line(l.Source),
		})
	}
	fmt.Fprintf(t, "List prices in dollars per million tokens. Discounts are not included.\n\n%s", terminal.Aligned(rows, "lrrll"))
}
