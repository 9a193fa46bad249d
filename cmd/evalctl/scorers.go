package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/scorer"
)

// exactFlag is a flag of the commands that select a scorer.
type exactFlag struct {
	ExactCase bool `name:"exact-case" help:"With --scorer exact or checks: upper and lower case matter." group:"advanced"`
}

func (f exactFlag) validateExact(k scorer.Kind) error {
	if f.ExactCase && !k.ComparesText() {
		return fmt.Errorf("--exact-case needs --scorer %s: the %s scorer does not compare text", scorer.Exact{}.Name(), k.Name)
	}
	return nil
}

// exactCase returns what an identity has of the flag, nil for another scorer than exact.
func (f exactFlag) exactCase(k scorer.Kind) *bool {
	if !k.ComparesText() {
		return nil
	}
	return &f.ExactCase
}

// scorerVars returns the variables in the tags of --scorer: the names of all scorers, and a phrase
// that describes each of them.
func scorerVars() kong.Vars {
	var help []string
	for _, k := range scorer.Kinds() {
		help = append(help, fmt.Sprintf("%s (%s)", k.Name, k.Help))
	}
	return kong.Vars{"scorers": strings.Join(scorer.Names(), ","), "scorer_help": strings.Join(help, ", ")}
}
