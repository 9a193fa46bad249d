package main

import (
	"fmt"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/terminal"
)

// listedBrains is the maximum number of brains that brains prints.
const listedBrains = 8

// printBrains prints the brains and their questions, if there are several.
func printBrains(t *terminal.Terminal, brains []dataset.Brain) {
	if len(brains) < 2 {
		return
	}
	var named []string
	for i, b := range brains {
		if i == listedBrains {
			named = append(named, fmt.Sprintf("… and %d more", len(brains)-i))
			break
		}
		text := fmt.Sprintf("%s %s", b.Name, count(b.Questions, "question"))
		if len(b.Docs) > 0 {
			text += " in " + count(len(b.Docs), "document")
		}
		named = append(named, text)
	}
	t.Field("brains", "%d: %s", len(brains), strings.Join(named, ", "))
}
