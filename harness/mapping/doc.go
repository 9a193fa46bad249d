// Package mapping adapts a memory service with its own tools or routes to target.Service. A
// Mapping, a YAML file, names the tool of an MCP server, or the HTTP route, that remembers a text
// and the one that searches, their arguments, and where the reply has texts, ids, scores and dates.
// Mappings for some servers are built in.
//
//   - mapping.go, parse.go, check.go, nodes.go: the file, with errors that have the line and the column
//   - template.go: arguments, which are built from data and never by joining text
//   - reply.go: reading replies
//   - keywords.go: the words of a question, for servers that match words literally
//   - service.go, store.go, write.go, conversation.go, settle.go: the target.Service
//   - caller.go, process.go, http.go: how calls reach the service
//   - examine.go, trial.go, proposal.go: proposing a mapping, from offers (offer.go, schema.go),
//     arguments (arguments.go) and the places of samples in replies (sample.go, place.go, form.go, ids.go)
//
// Information missing from a reply is left out, and Service.Lacks reports it. Nothing is guessed.
package mapping
