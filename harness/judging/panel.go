package judging

import "fmt"

// NewPanel plans a panel. first has the shared configuration and the judge for recipes without a
// model; model opens the model that a recipe names.
func NewPanel(first Config, recipes []Recipe, model func(name string) (Config, error)) (*Plan, error) {
	var members []Config
	for _, r := range recipes {
		c := first
		if r.Model != "" {
			own, err := model(r.Model)
			if err != nil {
				return nil, fmt.Errorf("recipe %s: %w", r.Name, err)
			}
			c.Provider, c.Model, c.BaseURL, c.PricesDate = own.Provider, own.Model, own.BaseURL, own.PricesDate
		}
		c.Recipe, c.ByType, c.Temperature, c.Options = r.Name, r.Prompts, r.Temperature, r.Options.Or(first.Options)
		members = append(members, c)
	}
	headline := members[0]
	headline.Others = members[1:]
	return New(headline)
}
