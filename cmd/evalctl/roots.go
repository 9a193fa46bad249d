package main

// Root certificates for systems that have none, such as a container image without a base image. If
// the system has its own, they are used instead.
import _ "golang.org/x/crypto/x509roots/fallback"
