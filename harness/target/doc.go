// Package target is the client of the service under test. A Service is everything that a run needs
// of it, an Endpoint is the Service for the protocol over HTTP, and a Target asks its brains
// questions.
//
// Daemons spell keys, streams and errors differently. Their answers are read leniently but never
// guessed: an unreadable answer is a Failure, never an empty answer.
package target
