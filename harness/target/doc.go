// Package target is the daemon under test. An Endpoint is its HTTP API, a Target asks its brains
// questions, and Seed fills its brains before.
//
// Daemons spell keys, streams and errors differently. What they send is read leniently, but nothing
// is guessed: an answer that cannot be read is a Failure, and never an empty answer.
package target
