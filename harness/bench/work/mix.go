// Package work generates the requests of a bench: a mix of operations on brains filled with a
// corpus, with queries that find something in it.
package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/harness/target"
	"evalctl/internal/decimal"
)

// The operations of a mix.
const (
	Search   = "search"
	Ask      = "ask"
	Put      = "put"    // writes a new document
	Batch    = "batch"  // writes ten new documents with one request
	Ingest   = "ingest" // has the service convert and store a file
	Remember = "remember"
	Recall   = "recall"
)

// Ops are all operations in output order.
var Ops = []string{Search, Ask, Put, Batch, Ingest, Remember, Recall}

// ParseMix parses a mix: search=80,ask=15,put=5. A name alone has weight 1.
func ParseMix(text string) ([]record.Share, error) {
	var mix []record.Share
	for part := range strings.SplitSeq(text, ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(part), "=")
		s := record.Share{Op: name, Weight: 1}
		if !slices.Contains(Ops, name) {
			return nil, fmt.Errorf("operation %q is not known; write OPERATION=WEIGHT with one of %s", name, strings.Join(Ops, ", "))
		}
		if given {
			var err error
			if s.Weight, err = decimal.Parse(weight); err != nil || !(s.Weight > 0 && s.Weight <= 1e9) {
				return nil, fmt.Errorf("operation %s: the weight %q is not a number above 0", name, weight)
			}
		}
		if slices.ContainsFunc(mix, func(o record.Share) bool { return o.Op == name }) {
			return nil, fmt.Errorf("operation %s is given twice", name)
		}
		mix = append(mix, s)
	}
	return mix, nil
}

// Wire returns a service that speaks the protocol, so that the bench can make its requests
// directly.
func Wire(s target.Service) (e *target.Endpoint, ok bool) {
	w, err := target.Find[target.Wire](s, target.Protocol)
	if err != nil {
		return nil, false
	}
	return w.Wire(), true
}

// Has returns the part of a mix that a service supports, and why it lacks the rest.
func Has(s target.Service, mix []record.Share) (part []record.Share, lacks []string) {
	needs := map[string]target.Ability{
		Search: target.Search, Ask: target.Asks, Put: target.Put, Batch: target.Put, Ingest: target.Put,
		Remember: target.Put, Recall: target.Search,
	}
	for _, share := range mix {
		why := s.Lacks(needs[share.Op])
		if why == "" && (share.Op == Ingest || share.Op == Recall) {
			why = s.Lacks(target.Protocol)
		}
		if why != "" {
			lacks = append(lacks, share.Op+": "+why)
			continue
		}
		part = append(part, share)
	}
	return part, lacks
}

// choose returns the operation for a random number from 0 to 1.
func choose(mix []record.Share, x float64) string {
	sum := 0.0
	for _, s := range mix {
		sum += s.Weight
	}
	x *= sum
	for _, s := range mix {
		if x < s.Weight {
			return s.Op
		}
		x -= s.Weight
	}
	return mix[len(mix)-1].Op // x was rounded up
}

// numbered returns random numbers that depend only on a seed and a request number, so that every
// target gets the same requests.
func numbered(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// zipf returns a Zipf-distributed number below n. Low numbers are the most frequent.
func zipf(random *rand.Rand, exponent float64, n int) int {
	if n < 2 {
		return 0
	}
	return int(rand.NewZipf(random, exponent, 1, uint64(n-1)).Uint64())
}
