package main

import (
	"fmt"
	"maps"

	"evalctl/internal/llm"
)

// moneyFlags has the flags about money that replay and judge check share.
type moneyFlags struct {
	MaxCostUSD string   `name:"max-cost-usd" default:"20" placeholder:"USD" help:"Maximum cost of all models together, or off (${default})." group:"scoring"`
	Price      []string `placeholder:"MODEL=IN/OUT" sep:"none" help:"Price of a model in dollars per million tokens. May be repeated." group:"advanced"`
	Prices     string   `placeholder:"FILE" help:"File of prices, instead of those in this program." group:"advanced"`

	unusableFlag

	limit  *llm.USD // nil for none
	prices llm.Prices
	// pricesDate is the day of the prices, but for those of --price.
	pricesDate string
}

// unusableFlag ends the spending on a judge that gives no verdicts.
type unusableFlag struct {
	MaxUnusable int `name:"max-unusable" default:"20" placeholder:"N" help:"Stop when N answers in a row get no usable verdict of the judge. 0: no limit (${default})." group:"advanced"`
}

func (f *unusableFlag) validateUnusable() error {
	if f.MaxUnusable < 0 {
		return fmt.Errorf("--max-unusable %d: must not be negative; 0 means no limit", f.MaxUnusable)
	}
	return nil
}

// noCap is the value of --max-cost-usd without a cap.
const noCap = "off"

// validateMoney parses the flags. A price of --price replaces that of the file, which replaces that
// of the program.
func (m *moneyFlags) validateMoney() error {
	if err := m.validateUnusable(); err != nil {
		return err
	}
	m.prices, m.pricesDate = llm.DefaultPrices(), llm.PricesDate
	if m.Prices != "" {
		file, err := llm.ReadPrices(m.Prices)
		if err != nil {
			return fmt.Errorf("--prices: %w", err)
		}
		maps.Copy(m.prices, file.Prices)
		m.pricesDate = file.Date
	}
	if err := addPrices(m.prices, m.Price); err != nil {
		return err
	}
	if m.MaxCostUSD == noCap {
		return nil
	}
	limit, err := llm.ParseUSD(m.MaxCostUSD)
	if err != nil {
		return fmt.Errorf("--max-cost-usd: %w, or off for no cap", err)
	}
	m.limit = &limit
	return nil
}

// addPrices adds the values of --price to a table.
func addPrices(prices llm.Prices, values []string) error {
	for _, v := range values {
		model, price, err := llm.ParsePrice(v)
		if err != nil {
			return fmt.Errorf("--price: %w", err)
		}
		prices[model] = price
	}
	return nil
}
