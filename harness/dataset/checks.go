package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/decimal"
	"evalctl/internal/jsonobj"
	"evalctl/scorer"
)

// parseChecks parses the value of the key checks: a list of objects, each with one kind of check
// and optionally a name and a weight. Unlike in a line, unknown keys are an error, because an
// ignored check would count as passed.
func parseChecks(value json.RawMessage) ([]scorer.Check, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if value[0] != '[' {
		return nil, fmt.Errorf(`field "checks" must be an array of objects, not %s`, jsonKind(value))
	}
	var checks []scorer.Check
	for element := range jsonobj.Elements(value) {
		c, err := parseCheck(element)
		if err == nil {
			err = c.Valid()
		}
		if err != nil {
			return nil, fmt.Errorf("checks[%d]: %w", len(checks), err)
		}
		checks = append(checks, c)
	}
	return checks, nil
}

func parseCheck(value json.RawMessage) (c scorer.Check, err error) {
	o, err := jsonobj.Parse(value)
	if err != nil {
		return c, fmt.Errorf(`a check is an object such as {"contains": "green"}, not %s`, jsonKind(value))
	}
	kinds := scorer.CheckKinds()
	var seen, given []string
	for _, m := range o {
		key := string(m.Key)
		if slices.Contains(seen, key) {
			return c, fmt.Errorf("%q is given twice", key)
		}
		seen = append(seen, key)
		if slices.Contains(kinds, key) {
			given = append(given, key)
		}
		if err := setCheck(&c, key, m.Value); err != nil {
			return c, err
		}
	}
	if len(given) != 1 {
		return c, fmt.Errorf("a check has exactly one of %s, not %d of them; put each into an object of its own",
			strings.Join(kinds, ", "), len(given))
	}
	return c, nil
}

// setCheck sets the field of a check with this key.
func setCheck(c *scorer.Check, key string, value json.RawMessage) error {
	texts := map[string]*string{
		"contains": &c.Contains, "not_contains": &c.NotContains, "regex": &c.Regex, "cites": &c.Cites,
		"before": &c.Before, "judge": &c.Judge, "choice": &c.Choice, "name": &c.Name,
	}
	numbers := map[string]*float64{"max_latency_ms": &c.MaxLatencyMS, "weight": &c.Weight}
	if into := texts[key]; into != nil {
		text, ok := jsonobj.String(value)
		if !ok {
			return fmt.Errorf("%q must be a string, not %s", key, jsonKind(value))
		}
		if *into = text; strings.TrimSpace(text) == "" {
			return fmt.Errorf("%q is blank", key)
		}
		return nil
	}
	if into := numbers[key]; into != nil {
		number, err := decimal.Parse(string(value))
		if err != nil || number <= 0 {
			return fmt.Errorf("%q must be a number above 0", key)
		}
		*into = number
		return nil
	}
	for _, known := range append(scorer.CheckKinds(), "name", "weight") {
		if misspelt(letters(key), letters(known)) {
			return fmt.Errorf("unknown kind of check %.40q: did you mean %q?", key, known)
		}
	}
	return fmt.Errorf("unknown kind of check %.40q: it must be one of %s", key, strings.Join(scorer.CheckKinds(), ", "))
}

// checksCell returns the checks in a cell: a list, or JSON text in a table.
func checksCell(c cell) (json.RawMessage, error) {
	value := c.json
	if value == nil && c.text != "" {
		value = json.RawMessage(strings.TrimSpace(c.text))
		if !json.Valid(value) {
			return nil, errors.New(`"checks" must be JSON in a table, such as [{"contains": "green"}]`)
		}
	}
	if string(value) == "null" {
		return nil, nil
	}
	return value, nil
}
