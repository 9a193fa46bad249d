package result

import (
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/decimal"
)

// ParseRate parses a rate from 0 to 1.
func ParseRate(s string) (float64, error) {
	f, err := decimal.Parse(s)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errors.New("must be a rate from 0 to 1, such as 0.90")
	}
	return f, nil
}

// ParseTagFloors parses floors of tags, each TAG=RATE. Without any it returns nil.
func ParseTagFloors(list []string) (map[string]float64, error) {
	var floors map[string]float64
	for _, v := range list {
		at := strings.LastIndex(v, "=") // a tag may contain one
		if at < 1 {
			return nil, fmt.Errorf("%s: write TAG=RATE, such as temporal=0.8", v)
		}
		tag := v[:at]
		rate, err := ParseRate(v[at+1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		if _, twice := floors[tag]; twice {
			return nil, fmt.Errorf("%s: the tag %s has two floors", v, tag)
		}
		if floors == nil {
			floors = map[string]float64{}
		}
		floors[tag] = rate
	}
	return floors, nil
}
