package requirements

import (
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
)

// rejectedRequest is a request that has exactly one correct error response.
type rejectedRequest struct {
	id, what string
	status   int
	code     string // of the Problem, empty if the specification leaves it open
	request  request
	prepare  []step
	also     []int // other statuses that the specification leaves open
}

func (r rejectedRequest) statuses() []int { return append([]int{r.status}, r.also...) }

// givenOneOf requires one of these statuses for the check to be judged.
func givenOneOf(statuses []int) assertion {
	return func(r *response) error {
		if !slices.Contains(statuses, r.status) {
			return given(statuses[0])(r)
		}
		return nil
	}
}

func rejectedRequests() []rejectedRequest {
	seed := []step{put("a.md", "one")}
	emptyBatch := brainRequest("POST", "/documents/batch-ops").withBytes(`{"reason":"r","ops":[]}`)
	return []rejectedRequest{
		{"read-missing", "reading a document that does not exist", 404, protocol.CodeNotFound, readOf("none.md"), nil, nil},
		{"stat-missing", "stat of a document that does not exist", 404, protocol.CodeNotFound, statOf("none.md"), nil, nil},
		{"delete-missing", "DELETE of a document that does not exist", 404, protocol.CodeNotFound,
			deleteOf("none.md"), nil, nil},
		{"rename-missing", "rename of a document that does not exist", 404, protocol.CodeNotFound,
			renameOf("none.md", "b.md"), nil, nil},
		{"batch-missing", "a batch that deletes a document that does not exist", 404, "",
			batchOf(deleteOp("none.md")), nil, []int{400, 409}},
		{"put-path", "PUT to an invalid path", 400, protocol.CodeValidation, putOf("../a.md", "x"), nil, nil},
		{"read-path", "reading an invalid path", 400, "", readOf("../a.md"), nil, nil},
		{"append-path", "append to an invalid path", 400, protocol.CodeValidation, appendOf("../a.md", "x"), nil, nil},
		{"rename-path", "rename to an invalid path", 400, protocol.CodeValidation, renameOf("a.md", "../b.md"), seed, nil},
		{"batch-path", "a batch with an invalid path", 400, protocol.CodeValidation,
			batchOf(writeOp("../a.md", "x")), nil, nil},
		{"rename-json", "a rename request that is not valid JSON", 400, protocol.CodeValidation,
			postJSON("/documents/rename", `{"from":`), nil, nil},
		{"batch-json", "a batch that is not valid JSON", 400, protocol.CodeValidation,
			postJSON("/documents/batch-ops", `{"ops":`), nil, nil},
		{"put-type", "PUT with an unsupported media type", 415, protocol.CodeUnsupportedMediaType,
			putTyped("text/markdown", "a.md", "x"), nil, nil},
		{"append-type", "append with an unsupported media type", 415, protocol.CodeUnsupportedMediaType,
			appendTyped("text/plain", "a.md", "x"), nil, nil},
		{"rename-type", "rename with an unsupported media type", 415, protocol.CodeUnsupportedMediaType,
			renameTyped("text/plain", "a.md", "b.md"), seed, nil},
		{"batch-type", "a batch with an unsupported media type", 415, protocol.CodeUnsupportedMediaType,
			emptyBatch, nil, nil},
	}
}

func problemChecks() []check {
	var checks []check
	for _, r := range rejectedRequests() {
		steps := func(assertions ...assertion) []step {
			return append(slices.Clip(r.prepare), expect(r.request, 0, assertions...))
		}
		checks = append(checks,
			must("errors-status-"+r.id, "7.1",
				fmt.Sprintf("The status code for %s is %s.", r.what, orOf(r.statuses())),
				steps(statusIn(r.statuses()...))...),
			must("errors-problem-"+r.id, "7.1", "The body is a Problem for "+r.what+".",
				steps(givenError, isProblem)...),
		)
		if r.code != "" {
			checks = append(checks, should("errors-code-"+r.id, "7.1", "The code in the Problem is "+r.code+" for "+r.what+".",
				steps(givenOneOf(r.statuses()), jsonField("code", equals(r.code)))...))
		}
		checks = append(checks,
			should("errors-body-status-"+r.id, "7.1",
				"The status in the Problem, if there is one, equals the status code for "+r.what+".",
				steps(givenOneOf(r.statuses()), statusInBody)...),
		)
	}
	missing, invalid := readOf("none.md"), putOf("../a.md", "x")
	return append(checks,
		should("errors-media-type-404", "7.1", "The media type of a 404 response is application/problem+json.",
			inspect(missing, 404, hasMediaType(protocol.TypeProblem))),
		should("errors-media-type-400", "7.1", "The media type of a 400 response is application/problem+json.",
			inspect(invalid, 400, hasMediaType(protocol.TypeProblem))),
	)
}

func mediaTypeChecks() []check {
	seed := put("a.md", "kept")
	put415 := func(contentType string) []step {
		return []step{seed, expect(putTyped(contentType, "a.md", "x"), 415), expectContent("a.md", "kept")}
	}
	return []check{
		must("errors-put-json-415", "7.1", "PUT of application/json is rejected with 415 and writes nothing.",
			put415(protocol.TypeJSON)...),
		must("errors-put-text-415", "7.1", "PUT of text/plain is rejected with 415 and writes nothing.",
			put415("text/plain; charset=utf-8")...),
		must("errors-put-form-415", "7.1", "PUT of form data is rejected with 415 and writes nothing.",
			put415("application/x-www-form-urlencoded")...),
		must("errors-append-text-415", "7.1", "Append of text/plain is rejected with 415 and writes nothing.",
			seed, expect(appendTyped("text/plain", "a.md", "x"), 415), expectContent("a.md", "kept")),
		must("errors-rename-text-415", "7.1",
			"A rename request of type text/plain is rejected with 415 and renames nothing.",
			seed, expect(renameTyped("text/plain", "a.md", "b.md"), 415), expectDocuments("a.md")),
		must("errors-batch-text-415", "7.1", "A batch of type text/plain is rejected with 415 and changes nothing.",
			expect(batchTyped("text/plain", writeOp("a.md", "x")), 415), expectDocuments()),
	}
}

func renameBodyChecks() []check {
	rows := []struct{ id, what, body string }{
		{"from-missing", "without from", `{"to":"b.md"}`},
		{"to-missing", "without to", `{"from":"a.md"}`},
		{"from-number", "whose from is a number", `{"from":1,"to":"b.md"}`},
		{"to-null", "whose to is null", `{"from":"a.md","to":null}`},
		{"array", "that is a JSON array", `["a.md","b.md"]`},
		{"empty", "with an empty body", ``},
		{"json-twice", "with two JSON values", `{"from":"a.md","to":"b.md"}{}`},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("errors-rename-"+r.id+"-400", "7.1",
			"A rename request "+r.what+" is rejected with 400.",
			put("a.md", "one"), expect(postJSON("/documents/rename", r.body), 400), expectDocuments("a.md")))
	}
	return checks
}

func routeChecks() []check {
	return []check{
		should("errors-brain-missing-problem", "7.1",
			"The error response for a brain that does not exist has a Problem.",
			inNoBrain(putOf("a.md", "x"), givenError, isProblem)),
	}
}

// statusInBody requires the optional status in a Problem to equal the response's.
func statusInBody(r *response) error {
	o, err := r.object()
	switch {
	case err != nil:
		return unjudgedError{ReasonObserve, err}
	case o["status"] == nil:
		return optional("a status in the body of an error")
	}
	return jsonField("status", equals(float64(r.status)))(r)
}
