package llm

import (
	"net/url"
	"strings"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"":                                   "",
		"https://api.example.com/v1":         "https://api.example.com/v1",
		"::1":                                "::1",
		"localhost:11434":                    "localhost:11434",
		"https://me:s3cret@h:8/v1?key=s3#s3": "https://h:8/v1",
		"me:s3cret@h:8":                      "h:8",
		"s3cret@h":                           "h",
		"h/v1?key=s3cret":                    "h/v1",
		"http://me:s3/cret@h":                "unreadable",
		"me:s3?cret@h":                       "unreadable",
		"?s3cret":                            "unreadable",
	} {
		if got := WithoutSecrets(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func FuzzWithoutSecrets(f *testing.F) {
	for _, seed := range []string{"http://u:p@h/v1?q#f", "u@h", "h:1", "//@", "%@h", "http://[::1]@/?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got := WithoutSecrets(address)
		u, err := url.Parse(got)
		if strings.ContainsAny(got, "?#") || err == nil && u.User != nil {
			t.Fatalf("%q became %q", address, got)
		}
	})
}
