// Package mapping makes a memory service with tools or routes of its own a target.Service. A Mapping,
// a YAML file, says which tool of an MCP server, or which route over HTTP, remembers a text and
// searches, with which arguments, and where the reply has texts, ids, scores and dates. Mappings for
// some servers are part of the program.
//
//   - parse.go: the file, with an error that has the line
//   - template.go: arguments, which are data and never text that is put together
//   - reply.go: what a reply says
//   - keywords.go: the words of a question, for servers that match words literally
//   - service.go, store.go: the target.Service
//   - caller.go, process.go, http.go: how calls reach the service
//   - propose.go: a mapping from the names and schemas of tools
//
// What a reply does not say is left out, and Service.Lacks reports it. Nothing is guessed.
package mapping
