package verify

import "evalctl/harness/result"

// requests checks the consistency of a daemon's model requests, which are recorded at path. The
// counts do not follow from the questions.
func requests(m *result.ModelRequests, path string, res *result.Result, rep *Report) {
	if m == nil {
		return
	}
	add := reporter(rep.add)
	kinds := map[result.GeneratedKind]result.RequestCount{
		result.Facts: m.Ingest, result.Answers: m.Answers, result.Vectors: m.Embeddings,
	}
	made, failed, further := 0, m.Ingest.Failed+m.Answers.Failed+m.Embeddings.Failed, false
	for _, c := range kinds {
		made += c.Made
		add.must(c.Failed <= c.Made, path, c, "more requests failed than were made")
	}
	add.must(m.WithoutModel <= made, path+".without_model", m.WithoutModel, "only %v were made", made)
	refused := 0
	for _, r := range m.Refused {
		further = further || r.Path == ""
		if r.Path == result.PathCompletions || r.Path == result.PathEmbeddings {
			refused += r.Requests
		}
	}
	add.must(refused == failed || refused < failed && further, path+".refused", refused, "%v completions and embeddings failed", failed)
	for _, made := range m.Silent {
		n := kinds[made].Made
		add.must(n == 0, path+".silent", made, "%v requests were made", n)
	}
	metered := res.CostAccounting != nil && !res.CostAccounting.Unmetered
	add.must(len(m.Silent) == 0 || !metered, ".cost_accounting.unmetered_daemon", false, "the daemon made something without a request")
}
