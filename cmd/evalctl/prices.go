package main

import (
	"fmt"

	"evalctl/harness/report/text"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// pricesCmd has the flags of evalctl prices.
type pricesCmd struct {
	Filter string `arg:"" optional:"" help:"Print only models whose name contains this."`
	Prices string `placeholder:"FILE" help:"File of prices, which are added to those in this program, or replace them."`
	JSON   bool   `name:"json" help:"${about_json}"`
}

// Run prints the prices.
func (c *pricesCmd) Run(p *process) error {
	var file llm.PriceFile
	if c.Prices != "" {
		var err error
		if file, err = llm.ReadPrices(c.Prices); err != nil {
			return fmt.Errorf("--prices: %w", err)
		}
	}
	list := llm.ListPrices(file, c.Prices, c.Filter)
	if len(list.Models) == 0 && !c.JSON {
		return fmt.Errorf("no price is known for a model with %q in its name; "+
			"give it with --price MODEL=IN/OUT, or in a file with --prices", c.Filter)
	}
	return show(p, c.JSON, list, func(t *terminal.Terminal) { text.Prices(t, list) })
}
