package httpapi

import (
	"encoding/json"
	"net/http"

	"evalctl/daemon/protocol"
)

const apiDescription = "Keeps documents in named brains, searches them, and answers questions " +
	"from them. Scopes are enforced when the daemon runs with keys. Without keys every endpoint is open, " +
	"but a request whose Host is neither an address nor localhost nor the daemon's own name is " +
	"rejected with 403. With keys, a missing brain gets the same response as another tenant's: 403."

// operations describe the endpoints and say who is allowed to use them, by the operationId of their
// route. complete adds what follows from the route: path parameters, the scope, and the common
// failures.
var operations = map[string]operation{
	"health": {
		allowed: "nobody wrong reader writer admin searcher operator",
		Summary: "Report whether the daemon responds and is ready.",
		Parameters: []parameter{
			queryParameter("ready", "Responds with 503 unless the daemon is ready, for load balancers that look "+
				"only at the status. The value does not matter.", "1", ofType("string")),
		},
		Responses: returns[protocol.Health](http.StatusOK, "It responds."),
	},
	"openapi": {
		allowed: "nobody wrong reader writer admin searcher operator",
		Summary: "Return this document.",
		Responses: respond(http.StatusOK, "An OpenAPI document.", protocol.TypeJSON,
			inline(ofType("object"), require("openapi", "paths"))),
	},
	"metrics": {
		allowed: "admin operator",
		Summary: "Return counters in the Prometheus text format.",
		Responses: respond(http.StatusOK, "Text format 0.0.4.", "text/plain",
			inline(ofType("string"))),
	},

	"mcp": {
		allowed: "reader writer admin searcher operator",
		Summary: "Call the memory_* tools: the Model Context Protocol over streamable HTTP.",
		Description: "There are no sessions: every request is served on its own, and only POST is " +
			"supported. A tool needs the scope of the endpoint that it uses. A notification gets 202. " +
			"A message that is not valid gets 400, with the body of a JSON-RPC error. A request that " +
			"cannot be answered gets its error with 200, from version 2026-07-28 on with 404 or 400.",
		RequestBody: &requestBody{
			Required: true, Description: sizeLimit(maxRecordBody),
			Content: map[string]media{protocol.TypeJSON: {
				Schema: inline(ofType("object"), require("jsonrpc", "method")),
				Example: json.RawMessage(`{
					"jsonrpc": "2.0",
					"id": 1,
					"method": "tools/call",
					"params": {"name": "memory_list_brains", "arguments": {}}
				}`),
			}},
		},
		Responses: jsonRPC(),
	},

	"listBrains": {
		allowed: "reader writer admin searcher operator",
		Summary: "List the brains that the key may use, ascending by id, and name the default one.",
		Parameters: []parameter{
			queryParameter("limit", "Lists only the first ones.", 100, ofType("integer"), least(1)),
		},
		Responses: returns[protocol.BrainList](http.StatusOK, "The brains."),
	},
	"createBrain": {
		allowed:     "writer admin",
		Summary:     "Create a brain, which belongs to the key's tenant.",
		RequestBody: takes[protocol.CreateBrain]("", `{"name": "Field notes"}`),
		Responses:   located(returns[protocol.Brain](http.StatusCreated, "The brain.")),
		failures:    []int{http.StatusConflict},
	},
	"getBrain": {
		allowed:   "reader writer admin",
		Summary:   "Describe a brain.",
		Responses: returns[protocol.Brain](http.StatusOK, "The brain."),
	},
	"deleteBrain": {
		allowed: "admin operator",
		Summary: "Delete a brain with all its documents.",
		Parameters: []parameter{{
			Name: "X-Confirm-Delete", In: "header", Required: true,
			Schema: inline(constant("yes")), Example: "yes",
		}},
		Responses: done,
		failures:  []int{http.StatusPreconditionRequired},
	},

	"listDocuments": {
		allowed: "reader writer admin",
		Summary: "List documents, ascending by path. With dir, recursive, include_generated or glob " +
			"these are documents and directories by path; without any of them, records of all documents.",
		Parameters: []parameter{
			queryParameter("dir", "Directory to list; default: the brain's root.", "", ofType("string")),
			queryParameter("recursive", "Lists everything below, without directories.", true, boolean),
			queryParameter("include_generated", "Includes names that begin with _.", false, boolean),
			queryParameter("glob", "Pattern of base names: * ? [a-z] [!a-z].", "*.md", ofType("string")),
			queryParameter("limit", "Items in a page. Without it, more than 10,000 are rejected.", 100,
				ofType("integer"), between(1, protocol.MaxListItems)),
			queryParameter("cursor", "next_cursor of the previous page.", "", ofType("string")),
		},
		Responses: respond(http.StatusOK, "The listing.", protocol.TypeJSON,
			anyOf(schemaRef("FileList"), schemaRef("DocumentList"))),
		failures: []int{http.StatusRequestEntityTooLarge},
	},
	"headDocument": {
		allowed:    "reader writer admin",
		Summary:    "Report whether a document exists.",
		Parameters: []parameter{byPath},
		Responses:  map[string]response{"200": {Description: "It exists."}},
	},
	"readDocument": {
		allowed:    "reader writer admin",
		Summary:    "Read a document.",
		Parameters: []parameter{byPath},
		Responses:  respond(http.StatusOK, "Its bytes.", protocol.TypeBytes, anything),
	},
	"statDocument": {
		allowed:    "reader writer admin",
		Summary:    "Describe a document or directory.",
		Parameters: []parameter{byPath},
		Responses:  returns[protocol.FileInfo](http.StatusOK, "Its description."),
	},
	"writeDocument": {
		allowed:     "writer admin",
		Summary:     "Create or replace a document.",
		Parameters:  []parameter{byPath},
		RequestBody: bytesBody,
		Responses: map[string]response{"204": {
			Description: "Done. The header says what cannot be read of the document, such as its date.",
			Headers:     map[string]header{problemHeader: {Schema: inline(ofType("string"))}},
		}},
	},
	"appendDocument": {
		allowed:     "writer admin",
		Summary:     "Append to a document, which is created when missing.",
		Description: "Not safe to repeat: a second request appends again.",
		Parameters:  []parameter{byPath},
		RequestBody: bytesBody,
		Responses:   done,
	},
	"deleteDocument": {
		allowed: "writer admin",
		Summary: "Delete a document by its path, or, with the query parameter document_id in place of " +
			"path, by its id.",
		Parameters: []parameter{byPath},
		Responses:  done,
	},
	"renameDocument": {
		allowed:     "writer admin",
		Summary:     "Rename a document; one at the destination is overwritten.",
		RequestBody: takes[protocol.Rename]("", `{"from": "kettle.md", "to": "kitchen/kettle.md"}`),
		Responses:   done,
	},
	"batchDocuments": {
		allowed: "writer admin",
		Summary: "Apply operations in order, all or none.",
		RequestBody: takes[protocol.Batch]("", `{
			"reason": "tidy",
			"ops": [
				{"type": "write", "path": "tea.md", "content_base64": "VGVhIGF0IGZvdXIu"},
				{"type": "append", "path": "tea.md", "content_base64": "IERhaWx5Lg=="},
				{"type": "rename", "path": "tea.md", "to": "daily.md"},
				{"type": "delete", "path": "kettle.md"}
			]
		}`),
		Responses: returns[protocol.BatchResult](http.StatusOK, "How many were applied."),
		failures:  []int{http.StatusConflict},
	},

	"createDocument": {
		allowed: "writer admin",
		Summary: "Create a document and return its record. Its path must be free; by default it is " +
			"named after its title.",
		RequestBody: takes[protocol.CreateDocument](sizeLimit(maxRecordBody), `{
			"content": "# Cups\n\nThere are six cups.\n",
			"path": "kitchen/cups.md",
			"tags": ["kitchen", "tea"],
			"metadata": {"shelf": 2}
		}`),
		Responses: located(
			returns[protocol.DocumentRecord](http.StatusCreated, "The record of the new document.")),
		failures: []int{http.StatusConflict},
	},
	"ingestFile":      ingestFileOperation,
	"ingestFileAlias": ingestFileOperation,
	"ingestURL":       ingestURLOperation,
	"ingestURLAlias":  ingestURLOperation,

	"getDocument": {
		allowed: "reader writer admin",
		Summary: "Return the record of a document. Documents named read or stat at the root have " +
			"theirs in the listing only.",
		Responses: returns[protocol.DocumentRecord](http.StatusOK, "The record."),
	},
	"deleteDocumentById": {
		allowed:   "writer admin",
		Summary:   "Delete a document by its id.",
		Responses: done,
	},

	"getJob": {
		allowed: "reader writer admin",
		Summary: "Describe a job: work that continues after the response that named it. Of those " +
			"that have ended, a brain keeps the latest 256.",
		Responses: returns[protocol.Job](http.StatusOK, "The job."),
	},

	"watchBrain": {
		allowed: "reader writer admin",
		Summary: "Stream the changes of a brain from now on.",
		Responses: streams("Frames whose ids count from 1 in each stream. There is no replay: "+
			"Last-Event-ID is ignored. A client that does not keep up is disconnected.",
			map[string]string{
				protocol.EventReady:  "ReadyEvent",
				protocol.EventPing:   "PingEvent",
				protocol.EventChange: "ChangeEvent",
			}),
	},

	"search": {
		allowed: "reader writer admin searcher",
		Summary: "Find the chunks that match a query best.",
		RequestBody: takes[protocol.SearchRequest]("", `{
			"query": "What colour is the kettle?",
			"top_k": 3,
			"mode": "auto",
			"scope": "all",
			"sort": "relevance_then_recency",
			"question_date": "2024-05-01",
			"candidate_k": 100,
			"rerank_top_n": 0,
			"max_per_document": 2,
			"filters": {
				"path_prefix": "ket",
				"paths": ["kettle.md"],
				"tags": ["tea"],
				"session_ids": ["s1"],
				"date_from": "2024-04-30",
				"date_to": "2024-04-30",
				"include_generated": false
			},
			"explain": true
		}`),
		Responses: searchResponses,
	},
	"searchByQuery": {
		allowed:    "reader writer admin searcher",
		Summary:    "Find the chunks that match a query best.",
		Parameters: searchQuery(),
		Responses:  searchResponses,
	},
	"ask": {
		allowed: "reader writer admin",
		Summary: "Answer a question from a brain's documents.",
		RequestBody: takes[protocol.AskRequest]("", `{
			"question": "What colour is the kettle?",
			"top_k": 3,
			"scope": "all",
			"filters": {"pathPrefix": "ket"}
		}`),
		Responses: streams("retrieve first, then answer_delta and citation, then exactly one of done "+
			"and error.",
			map[string]string{
				protocol.EventRetrieve: "RetrieveEvent",
				protocol.EventDelta:    "DeltaEvent",
				protocol.EventCitation: "CitationEvent",
				protocol.EventDone:     "DoneEvent",
				protocol.EventError:    "ErrorEvent",
			}),
	},

	"addMessage": {
		allowed: "writer admin",
		Summary: "Add a message to a session. The first message opens the session.",
		Description: "Not safe to repeat: a second request adds another message. An ended session " +
			"accepts no message.",
		RequestBody: takes[protocol.SessionMessage](sizeLimit(maxMessageBody), `{
			"role": "user",
			"content": "I paid 40 euros for the kettle.",
			"name": "Anna",
			"metadata": {"actor_id": "anna", "skip_extract": true},
			"created_at": "2024-04-30T18:00:00+02:00"
		}`),
		Responses: returns[protocol.SessionMessageRecord](http.StatusCreated, "The record of the message."),
		failures:  []int{http.StatusConflict},
	},
	"addMessages": {
		allowed:     "writer admin",
		Summary:     "Add messages to a session, all or none.",
		Description: "As adding them one after the other, in one commit.",
		RequestBody: takes[protocol.SessionMessages](sizeLimit(maxMessagesBody), `{
			"messages": [
				{"role": "user", "content": "Is the kettle green?"},
				{"role": "assistant", "content": "Yes."}
			]
		}`),
		Responses: returns[protocol.SessionMessageList](http.StatusCreated,
			"The records, in the order of the messages."),
		failures: []int{http.StatusConflict},
	},
	"getSession": {
		allowed:   "reader writer admin",
		Summary:   "Describe a session.",
		Responses: returns[protocol.Session](http.StatusOK, "The session."),
	},
	"deleteSession": {
		allowed: "writer admin",
		Summary: "Delete a session with what was made from it.",
		Description: "Its messages, facts and episodes are deleted, and the summaries that were made from " +
			"these. A note that another session states as well stays.",
		Responses: done,
	},
	"recall": {
		allowed: "reader writer admin searcher",
		Summary: "Find the chunks that match a query best, in the context of a session.",
		Description: "What was said in the session lately has a lower weight than the query, and is " +
			"itself left out. With a session that does not exist, it is a search.",
		RequestBody: takes[protocol.RecallRequest]("", `{
			"query": "What colour is it?",
			"top_k": 3,
			"scope": "all"
		}`),
		Responses: returns[protocol.RecallResponse](http.StatusOK, "The best chunks."),
	},
	"reflect": {
		allowed: "writer admin",
		Summary: "End a session and reflect on it.",
		Description: "An episode that is worth remembering is written to reflection.path. Repeating the " +
			"request returns the same response, or tries again if the model failed. A session that does " +
			"not exist is no_result.",
		Responses: returns[protocol.ReflectResponse](http.StatusOK, "What it came to."),
	},
	"consolidate": consolidation("Consolidate the memory of a brain.",
		"Promotes facts that several sessions state, compiles summaries, and prunes facts and "+
			"episodes that are promoted, repeated, superseded or summarized. Documents that a user "+
			"wrote or changed are never touched. Everything that is pruned is recorded. While the "+
			"brain is being consolidated, another request fails with 409. If the model fails, "+
			"nothing is changed, and the status is 502 or 429."),
	"compile": consolidation("Consolidate the memory of a brain.", "Another name of consolidate."),
}

func consolidation(summary, description string) operation {
	body := takes[protocol.ConsolidateRequest]("May be missing.", `{"dry_run": true}`)
	body.Required = false
	return operation{
		allowed: "writer admin",
		Summary: summary, Description: description,
		RequestBody: body,
		Responses:   returns[protocol.ConsolidateResponse](http.StatusOK, "What was done, or would be done."),
		failures:    []int{http.StatusConflict},
	}
}

var ingestFileOperation = operation{
	allowed: "writer admin",
	Summary: "Store a file as a Markdown document. What is not Markdown is converted, and kept as well.",
	Description: "Nothing is overwritten. The same bytes of the same kind are stored once. A file " +
		"above 2 MiB is converted by a job. A form has the file in the part file, and the other keys " +
		"as fields; tags may be repeated or separated by commas.",
	RequestBody: ingestBody(`{
		"path": "kitchen/cups.txt",
		"content_type": "text/plain; charset=utf-8",
		"as": "text",
		"title": "Cups",
		"tags": ["kitchen"],
		"content_base64": "VGhlcmUgYXJlIHNpeCBjdXBzLg=="
	}`),
	Responses: ingestResponses(),
}

var ingestURLOperation = operation{
	allowed: "writer admin",
	Summary: "Fetch a web page and store its main text as a Markdown document.",
	Description: "Addresses that are not public are rejected, unless the daemon runs with " +
		"--allow-private-fetch. A page of more than 5 MiB is rejected with 413, one that cannot be " +
		"converted with 415, and a failure of its server is 502.",
	RequestBody: takes[protocol.IngestURL]("", `{
		"url": "https://example.com/cups.html",
		"title": "Cups",
		"tags": ["kitchen"]
	}`),
	Responses: ingestedPage(),
}
