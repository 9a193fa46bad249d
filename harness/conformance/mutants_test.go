package conformance

import (
	"net/http"
	"slices"
)

// mutant is the reference daemon with one defect.
type mutant struct {
	name, defect string
	wrap         wrapper
	// caughtBy are the ids of the checks that must fail. alsoFails are globs over the ids of other
	// checks that may fail, because they depend on the same behaviour.
	caughtBy, alsoFails []string
}

func mutants() []mutant {
	return slices.Concat(
		statusMutants(), documentMutants(), readMutants(), recordMutants(), listingMutants(), batchMutants(),
		pathMutants(), limitMutants(), errorMutants(), headerMutants(), ignoredHeaderMutants(), eventMutants(),
		authMutants(), searchMutants(), askMutants(), brainMutants(), sessionMutants(), ingestMutants(), mcpMutants())
}

func changeStatus(from, to int) func(*http.Request, *captured) {
	return func(_ *http.Request, a *captured) {
		if a.Status == from {
			a.Status = to
		}
	}
}
