package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/scorer"
)

// scorerVars returns the variables in the tags of --scorer: the names of all scorers, and a phrase
// that describes each of them.
func scorerVars() kong.Vars {
	var names, help []string
	for _, k := range scorer.Kinds() {
		names = append(names, k.Name)
		help = append(help, fmt.Sprintf("%s (%s)", k.Name, k.Help))
	}
	return kong.Vars{"scorers": strings.Join(names, ","), "scorer_help": strings.Join(help, ", ")}
}

// offlineScorers returns the names of the scorers that need no model.
func offlineScorers() []string {
	var names []string
	for _, k := range scorer.Kinds() {
		if k.Offline != nil {
			names = append(names, k.Name)
		}
	}
	return names
}
