// Package docs has the JSON Schemas of the files that evalctl reads and writes.
package docs

import "embed"

// Schemas has the files <name>.schema.json.
//
//go:embed *.schema.json
var Schemas embed.FS
