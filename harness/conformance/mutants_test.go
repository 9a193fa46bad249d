package conformance

import (
	"net/http"
	"slices"
)

// mutant is the reference daemon with one promise broken.
type mutant struct {
	name, defect string
	wrap         wrapper
	// caught are the checks that must fail. spread are globs of others that may
	// fail too, because they need what is broken.
	caughtBy, alsoFails []string
}

func mutants() []mutant {
	return slices.Concat(statusMutants(), documentMutants(), readMutants(), recordMutants(), listingMutants(), batchMutants(), pathMutants(), limitMutants(),
		errorMutants(), headerMutants(), headerObeyedMutants(), eventMutants(), authMutants(), searchMutants(), askMutants(), brainMutants())
}

func changeStatus(from, to int) func(*http.Request, *captured) {
	return func(_ *http.Request, a *captured) {
		if a.status == from {
			a.status = to
		}
	}
}
