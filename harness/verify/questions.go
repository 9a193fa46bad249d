package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"sync"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// batchBytes is how much of a file a worker decodes at a time.
const batchBytes = 256 << 10

// batch holds the text of consecutive questions.
type batch struct {
	first int // the number of the first one, from 1
	texts [][]byte
}

// batchContent holds the decoded questions of a batch.
type batchContent struct {
	first   int
	records []result.Record
	found   []Difference
}

// figures sums up the questions of a file.
type figures struct {
	sum    *aggregate.Sum
	replay *aggregate.ReplaySum
	// baseline is nil if the result has none or if it is not available.
	baseline *aggregate.Baseline

	number  int // of questions
	numbers map[result.AskedID]int
	tags    map[string]int
	brains  map[string]int
	// actor is the cost, according to the questions, of the model that wrote the answers.
	actor llm.USD
}

// add decodes and checks questions concurrently.
func (f *figures) add(questions iter.Seq2[[]byte, error], res *result.Result, rep *Report) (err error) {
	check := newChecker(res)
	check.textless = rep.Kind == "sweep"
	f.numbers = map[result.AskedID]int{}
	batches, done := make(chan batch), make(chan batchContent)
	var workers, collector sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for b := range batches {
				done <- check.batch(b)
			}
		})
	}
	collector.Go(func() {
		for c := range done {
			f.count(c, rep)
		}
	})
	next, size := batch{first: 1}, 0
	for text, failed := range questions {
		if failed != nil {
			err = failed
			break
		}
		next.texts = append(next.texts, bytes.Clone(text))
		if size += len(text); size >= batchBytes {
			batches <- next
			next, size = batch{first: next.first + len(next.texts)}, 0
		}
	}
	batches <- next
	close(batches)
	workers.Wait()
	close(done)
	collector.Wait()
	rep.Questions = f.number
	return err
}

// count adds the records of a batch. Batches may come in any order.
func (f *figures) count(c batchContent, rep *Report) {
	for _, d := range c.found {
		rep.add(d)
	}
	for i, rec := range c.records {
		f.number++
		if rec.ID == "" {
			continue // it could not be decoded
		}
		number := c.first + i
		key := rec.Asked()
		if other := f.numbers[key]; other > 0 {
			late := max(number, other)
			rep.add(Difference{
				Path: questionPath(late) + ".id", Question: rec.ID, number: late,
				Problem: fmt.Sprintf("question %d has the same id", min(number, other)),
			})
		}
		f.numbers[key] = number
		f.sum.Add(rec)
		f.replay.Add(rec)
		f.brains[rec.Brain]++
		for _, tag := range rec.Tags {
			f.tags[tag]++
		}
		if rec.Actor != nil {
			f.actor = f.actor.Plus(rec.Actor.USD)
		}
	}
}

// ids returns the SHA-256 of the sorted ids, as in a Selection.
func (f *figures) ids() string {
	ids := map[string]bool{}
	for key := range f.numbers {
		ids[key.ID] = true
	}
	return result.IDsSHA256(maps.Keys(ids))
}

// questionPath returns the path of a question by its number from 1.
func questionPath(number int) string { return fmt.Sprintf(".questions[%d]", number-1) }

// batch decodes and checks the questions of a batch.
func (c *checker) batch(b batch) batchContent {
	out := batchContent{first: b.first, records: make([]result.Record, len(b.texts))}
	for i, text := range b.texts {
		number := b.first + i
		rec := &out.records[i]
		add := func(d Difference) {
			d.Path, d.Question, d.number = questionPath(number)+d.Path, rec.ID, number
			out.found = append(out.found, d)
		}
		if err := json.Unmarshal(text, rec); err != nil {
			add(Difference{Problem: "it cannot be read: " + err.Error()})
			*rec = result.Record{}
		}
		c.schema(text, rec, add)
		if c.cachedTimed && rec.FromCache() {
			rec.Actor.Cached = false
		}
		if rec.ID != "" {
			c.record(rec, add)
		}
	}
	return out
}

// schema checks a question against the schema. A question that evalctl writes has only allowed
// keys, so it suffices to check the values, which is much faster.
func (c *checker) schema(text []byte, rec *result.Record, add reporter) {
	written, err := json.Marshal(rec)
	if err == nil && bytes.Equal(written, text) && plausible(rec) {
		return
	}
	v, err := decode(text)
	if err != nil {
		return // which Unmarshal has reported
	}
	violations(compiled().question, v, func(path, problem string) {
		add(Difference{Path: path, Problem: problem})
	})
}

// checkResults returns the recorded outcomes of the checks.
func checkResults(r *result.Record) []scorer.CheckResult {
	var out []scorer.CheckResult
	for _, c := range r.Checks {
		out = append(out, scorer.CheckResult{Holds: c.Holds != nil && *c.Holds, Scored: c.Holds != nil, Reason: c.Reason})
	}
	return out
}
