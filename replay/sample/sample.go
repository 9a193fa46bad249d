// Package sample selects the questions for a replay: a seeded stratified sample, or a list of ids.
package sample

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"evalctl/harness/result"
)

// Item is a question of a benchmark. IDs are unique.
type Item struct{ ID, Stratum string }

// Config selects the questions to draw.
type Config struct {
	Size int // the largest number of questions, 0 for all
	Seed uint64
	// MinPerStratum is the minimum number of questions per stratum. Smaller strata are drawn as a
	// whole.
	MinPerStratum int
	// IDs are exactly the questions to draw, nil for a sample of Size. With IDs, Size and
	// MinPerStratum must be 0, and no id may be in Exclude.
	IDs []string
	// Exclude are questions to leave out before anything is drawn or counted.
	Exclude []string
}

// Draw selects questions, and returns their ids in the order of items.
//
// The same questions, size, minimum and seed always yield the same sample, in any order of items,
// on every platform and with every version of Go: each stratum is ordered by the SHA-256 of seed,
// stratum and id, and allocate decides how many of its first questions are drawn. With the same
// seed, a larger sample contains a smaller one, except where allocate gives a stratum fewer
// questions in the larger one.
//
// The populations and strata in the result exclude Exclude, and are sorted by name. Equal
// Signatures mean the same ids in the same strata.
//
// Draw returns an error if ids of items are repeated, if ids to draw are unknown, repeated,
// excluded or none, if ids to exclude are unknown, if nothing is left to draw, and if allocate
// does. It names at most ten ids.
func Draw(items []Item, c Config) (result.Sample, []string, error) {
	pool, chosen, err := choose(items, c)
	if err != nil {
		return result.Sample{}, nil, fmt.Errorf("sample: %w", err)
	}
	s := result.Sample{
		Population: len(pool), Seed: c.Seed, MinPerStratum: c.MinPerStratum,
		Excluded: len(items) - len(pool), Listed: c.IDs != nil, Strata: []result.StratumDraw{},
	}
	strata := map[string]result.StratumDraw{}
	var drawn []Item
	var ids []string
	for _, item := range pool {
		d := strata[item.Stratum]
		d.Name = item.Stratum
		d.Population++
		if chosen[item.ID] {
			d.Sampled++
			drawn = append(drawn, item)
			ids = append(ids, item.ID)
		}
		strata[item.Stratum] = d
	}
	for _, name := range slices.Sorted(maps.Keys(strata)) {
		s.Strata = append(s.Strata, strata[name])
	}
	s.Size, s.Signature = len(drawn), signature(drawn)
	return s, ids, nil
}

// choose returns the items without the excluded ones, and the ids to draw.
func choose(items []Item, c Config) (pool []Item, chosen map[string]bool, err error) {
	excluded, err := check(items, c)
	if err != nil {
		return nil, nil, err
	}
	pool = slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return excluded[i.ID] })
	if len(pool) == 0 {
		return nil, nil, fmt.Errorf("no question is left: %d of %[1]d questions of the benchmark are excluded",
			len(items))
	}
	if c.IDs != nil {
		return pool, set(c.IDs), nil
	}
	if c.Size == 0 || c.Size > len(pool) {
		c.Size = len(pool)
	}
	chosen, err = first(pool, c)
	return pool, chosen, err
}

// first returns the ids of the first items of each stratum, in the order given by the seed.
func first(pool []Item, c Config) (map[string]bool, error) {
	type place struct {
		id  string
		key []byte
	}
	strata, sizes := map[string][]place{}, map[string]int{}
	for _, item := range pool {
		h := sha256.New()
		_ = binary.Write(h, binary.BigEndian, c.Seed)
		add(h, item.Stratum)
		add(h, item.ID)
		strata[item.Stratum] = append(strata[item.Stratum], place{item.ID, h.Sum(nil)})
		sizes[item.Stratum]++
	}
	parts, err := allocate(sizes, c.Size, c.MinPerStratum)
	if err != nil {
		return nil, err
	}
	chosen := make(map[string]bool, c.Size)
	for name, places := range strata {
		slices.SortFunc(places, func(a, b place) int { return bytes.Compare(a.key, b.key) })
		for _, p := range places[:parts[name]] {
			chosen[p.id] = true
		}
	}
	return chosen, nil
}

func signature(drawn []Item) string {
	byID := func(a, b Item) int { return cmp.Compare(a.ID, b.ID) }
	h := sha256.New()
	for _, item := range slices.SortedFunc(slices.Values(drawn), byID) {
		add(h, item.ID)
		add(h, item.Stratum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// add hashes s preceded by its length, so that different lists of strings are hashed differently.
func add(h hash.Hash, s string) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(s)))
	_, _ = io.WriteString(h, s)
}
