package llm

import (
	"maps"
	"slices"
	"strings"
)

// PriceList has the price of each known model. Its JSON is the output of evalctl prices --json.
type PriceList struct {
	Date   string        `json:"date"` // of the prices in this program
	Unit   string        `json:"unit"`
	Models []ListedPrice `json:"models"` // by name
}

// ListedPrice is the price of a model and its source.
type ListedPrice struct {
	Model  string `json:"model"`
	Input  USD    `json:"input"`
	Output USD    `json:"output"`
	// Source is evalctl, or the path of a file.
	Source string `json:"source"`
	Date   string `json:"date"`
}

// ListPrices returns the prices of the models whose name contains filter in any case: the default
// prices, overridden and extended by the file at path.
func ListPrices(file PriceFile, path, filter string) PriceList {
	prices := DefaultPrices()
	maps.Copy(prices, file.Prices)
	list := PriceList{PricesDate, "usd_per_million_tokens", []ListedPrice{}}
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		if !strings.Contains(strings.ToLower(model), strings.ToLower(filter)) {
			continue
		}
		l := ListedPrice{model, prices[model].Input, prices[model].Output, "evalctl", PricesDate}
		if _, ok := file.Prices[model]; ok {
			l.Source, l.Date = path, file.Date
		}
		list.Models = append(list.Models, l)
	}
	return list
}
