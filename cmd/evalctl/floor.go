package main

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
)

// noFloor is the flag value for FloorNone.
const noFloor = "none"

// parseFloor parses a floor. given is false for a default.
func parseFloor(s string, given bool) (float64, result.FloorFrom, error) {
	if s == noFloor {
		return 0, result.FloorNone, nil
	}
	rate, err := result.ParseRate(s)
	if err != nil {
		return 0, "", fmt.Errorf("%w, or %s", err, noFloor)
	}
	if given {
		return rate, result.FloorGiven, nil
	}
	return rate, result.FloorDefault, nil
}

// parseTagFloors parses floors of tags, each TAG=RATE. It returns nil for an empty list.
func parseTagFloors(list []string) (map[string]float64, error) {
	var floors map[string]float64
	for _, v := range list {
		at := strings.LastIndex(v, "=") // a tag may contain one
		if at < 1 {
			return nil, fmt.Errorf("%s: write TAG=RATE, such as temporal=0.8", v)
		}
		tag := v[:at]
		rate, err := result.ParseRate(v[at+1:])
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
