package result

import (
	"errors"
	"fmt"
	"strings"

	"evalctl/internal/decimal"
)

// FloorFrom is the origin of a floor. It is empty in files that do not record it.
type FloorFrom string

// The origins of floors.
const (
	FloorNone    FloorFrom = "none"    // there is no floor
	FloorDefault FloorFrom = "default" // the specification (spec 4.4)
	FloorGiven   FloorFrom = "given"   // a flag, or a project file
)

// Text formats a floor, with its origin if nobody set it explicitly: "floor 0.9, the default".
func (f FloorFrom) Text(floor float64) string {
	switch f {
	case FloorNone:
		return "no floor"
	case FloorDefault:
		return fmt.Sprintf("floor %v, the default", floor)
	}
	return fmt.Sprintf("floor %v", floor)
}

// NoFloor is the flag value for FloorNone.
const NoFloor = "none"

// ParseFloor parses a floor. given is false for a default.
func ParseFloor(s string, given bool) (float64, FloorFrom, error) {
	if s == NoFloor {
		return 0, FloorNone, nil
	}
	rate, err := ParseRate(s)
	if err != nil {
		return 0, "", fmt.Errorf("%w, or %s", err, NoFloor)
	}
	if given {
		return rate, FloorGiven, nil
	}
	return rate, FloorDefault, nil
}

// ParseRate parses a rate from 0 to 1.
func ParseRate(s string) (float64, error) {
	f, err := decimal.Parse(s)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errors.New("must be a rate from 0 to 1, such as 0.90")
	}
	return f, nil
}

// ParseTagFloors parses floors of tags, each TAG=RATE. It returns nil for an empty list.
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
