package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// pricesCmd has the flags of evalctl prices.
type pricesCmd struct {
	Filter string `arg:"" optional:"" help:"Print only models whose name contains this."`
	Prices string `placeholder:"FILE" help:"File of prices that are added, or replace those in this program, as for replay."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

func (pricesCmd) Help() string {
	return `Prints the price of each model that evalctl knows, in dollars per million tokens. Estimates, caps and
reported costs use these prices. Add others with --price MODEL=IN/OUT of the other commands.

Examples:

  evalctl prices
  evalctl prices gpt-5
  evalctl prices --prices mine.json --json
`
}

// listedPrice is a model with its price and whose table that is from.
type listedPrice struct {
	Model  string  `json:"model"`
	Input  llm.USD `json:"input"`
	Output llm.USD `json:"output"`
	// Source is builtIn or the path of --prices.
	Source string `json:"source"`
	Date   string `json:"date"`
}

const builtIn = "evalctl"

// Run prints the prices.
func (c *pricesCmd) Run(p *process) error {
	prices := llm.DefaultPrices()
	var file llm.PriceFile
	if c.Prices != "" {
		var err error
		if file, err = llm.ReadPrices(c.Prices); err != nil {
			return usageError{fmt.Errorf("--prices: %w", err)}
		}
		maps.Copy(prices, file.Prices)
	}
	list := []listedPrice{}
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		if !strings.Contains(strings.ToLower(model), strings.ToLower(c.Filter)) {
			continue
		}
		l := listedPrice{model, prices[model].Input, prices[model].Output, builtIn, llm.PricesDate}
		if _, ok := file.Prices[model]; ok {
			l.Source, l.Date = c.Prices, file.Date
		}
		list = append(list, l)
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(struct {
			Date   string        `json:"date"`
			Unit   string        `json:"unit"`
			Models []listedPrice `json:"models"`
		}{llm.PricesDate, "usd_per_million_tokens", list})
	}
	return c.print(p, list)
}

func (c *pricesCmd) print(p *process, list []listedPrice) error {
	if len(list) == 0 {
		return fmt.Errorf("no price is known for a model with %q in its name; "+
			"give it with --price MODEL=IN/OUT, or in a file with --prices", c.Filter)
	}
	rows := [][]string{{"model", "input", "output", "of", "source"}}
	for _, l := range list {
		rows = append(rows, []string{
			terminal.Line(l.Model), l.Input.String(), l.Output.String(), terminal.Line(l.Date), terminal.Line(l.Source),
		})
	}
	_, err := fmt.Fprintf(p.stdout, "List prices in dollars per million tokens. Discounts are not included.\n\n%s", terminal.Aligned(rows, "lrrll"))
	return err
}
