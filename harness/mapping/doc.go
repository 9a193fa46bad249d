// Package mapping makes a memory service with tools or routes of its own a target.Service. A Mapping,
// a YAML file, says which tool of an MCP server, or which route over HTTP, remembers a text and
// searches, with which arguments, and where the reply has texts, ids, scores and dates. Mappings for
// some servers are part of the program.
//
//   - mapping.go, parse.go, check.go, nodes.go: the file, with errors that have the line and the column
//   - template.go: arguments, which are data and never text that is put together
//   - reply.go: what a reply says
//   - keywords.go: the words of a question, for servers that match words literally
//   - service.go, store.go, write.go, conversation.go, settle.go: the target.Service
//   - caller.go, process.go, http.go: how calls reach the service
//   - examine.go, trial.go, proposal.go: a mapping that is proposed, from offers (offer.go, schema.go),
//     arguments (arguments.go) and where replies have samples (sample.go, place.go, form.go, ids.go)
//
// What a reply does not say is left out, and Service.Lacks reports it. Nothing is guessed.
package mapping
