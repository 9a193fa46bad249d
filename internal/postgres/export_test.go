package postgres

// Supported is supported.
var Supported = supported
