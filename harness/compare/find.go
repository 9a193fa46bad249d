package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"evalctl/harness/result"
	"evalctl/internal/spelling"
)

// FoundQuestion is one question of a file.
type FoundQuestion struct {
	Path string
	// Result is nil for a run in JSON lines.
	Result *result.Result
	// Records has one record for each time the question was asked, and is empty if the file lacks
	// it. A record's latency is NaN if unrecorded.
	Records []result.Record
	// Near lists ids with a similar spelling, the most similar first, if Records is empty.
	Near []string
}

// find reads one question of a file. Like Open, it reads and checks the whole file.
func find(path, id string) (*FoundQuestion, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	found := &FoundQuestion{Path: path, Result: src.res}
	var ids []string
	for rec, err := range src.records {
		if err != nil {
			return nil, err
		}
		if rec.ID == id {
			found.Records = append(found.Records, rec)
		} else {
			ids = append(ids, rec.ID)
		}
	}
	if len(found.Records) == 0 {
		found.Near = near(ids, id)
	}
	return found, nil
}

// nearShown is the maximum number of similar ids.
const nearShown = 3

// FindAll finds the question in each file, like find. It returns an error if no file has it.
func FindAll(paths []string, id string) ([]*FoundQuestion, error) {
	found, errs := make([]*FoundQuestion, len(paths)), make([]error, len(paths))
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Go(func() { found[i], errs[i] = find(path, id) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var near []string
	for _, f := range found {
		if len(f.Records) > 0 {
			return found, nil
		}
		for _, id := range f.Near {
			if quoted := fmt.Sprintf("%q", id); !slices.Contains(near, quoted) {
				near = append(near, quoted)
			}
		}
	}
	err := fmt.Errorf("no question of these files has the id %q", id)
	if len(near) > 0 {
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return nil, err
}

// near returns the ids that contain id or differ from it in a few characters.
func near(ids []string, id string) []string {
	type candidate struct {
		id       string
		distance int
	}
	most := max(1, len(id)/4)
	var close []candidate
	for _, other := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		d := most + 1
		if abs(len(other)-len(id)) <= most {
			d = spelling.Distance(strings.ToLower(other), strings.ToLower(id))
		}
		if d <= most || strings.Contains(strings.ToLower(other), strings.ToLower(id)) {
			close = append(close, candidate{other, d})
		}
	}
	slices.SortStableFunc(close, func(x, y candidate) int { return cmp.Compare(x.distance, y.distance) })
	var out []string
	for _, c := range close[:min(len(close), nearShown)] {
		out = append(out, c.id)
	}
	return out
}

func abs(n int) int { return max(n, -n) }
