// Package target talks to the service under test. A Service is all that a run needs of it, an
// Endpoint is the one that speaks the protocol over HTTP, and a Target asks its brains questions.
//
// Daemons spell keys, streams and errors differently. Their answers are read leniently, but nothing
// is guessed: an answer that cannot be read is a Failure, never an empty answer.
package target
