package verify

import "evalctl/harness/result"

// requests checks that what is said of a daemon's requests to its models agrees in itself. The
// counts do not follow from the questions.
func (f *figures) requests(res *result.Result, rep *Report) {
	m := res.Replay.ModelRequests
	if m == nil {
		return
	}
	const path = ".replay.model_requests"
	kinds := map[result.Generated]result.RequestCount{
		result.Facts: m.Ingest, result.Answers: m.Answers, result.Vectors: m.Embeddings,
	}
	made, failed, further := 0, m.Ingest.Failed+m.Answers.Failed+m.Embeddings.Failed, false
	for _, c := range kinds {
		made += c.Made
		if c.Failed > c.Made {
			rep.add(Difference{Path: path, InFile: text(c), Problem: "more requests failed than were made"})
		}
	}
	if m.WithoutModel > made {
		rep.add(Difference{Path: path + ".without_model", InFile: text(m.WithoutModel), Problem: "only " + text(made) + " were made"})
	}
	refused := 0
	for _, r := range m.Refused {
		further = further || r.Path == ""
		if r.Path == result.PathCompletions || r.Path == result.PathEmbeddings {
			refused += r.Requests
		}
	}
	if refused > failed || refused < failed && !further {
		rep.add(Difference{Path: path + ".refused", InFile: text(refused), Problem: text(failed) + " completions and embeddings failed"})
	}
	for _, made := range m.Silent {
		if n := kinds[made].Made; n > 0 {
			rep.add(Difference{Path: path + ".silent", InFile: text(made), Problem: text(n) + " requests were made"})
		}
	}
	if len(m.Silent) > 0 && res.CostAccounting != nil && !res.CostAccounting.Unmetered {
		rep.add(Difference{Path: ".cost_accounting.unmetered_daemon", InFile: "false", Problem: "the daemon made something without a request"})
	}
}
