package main

// The roots of trust for https where the system has none, as in a container
// image without a base. Those of the system, if any, are used instead.
import _ "golang.org/x/crypto/x509roots/fallback"
