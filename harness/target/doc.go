// Package target talks to the daemon under test. An Endpoint is its HTTP API, and a Target asks its
// brains questions.
//
// Daemons spell keys, streams and errors differently. Their answers are read leniently, but nothing
// is guessed: an answer that cannot be read is a Failure, never an empty answer.
package target
