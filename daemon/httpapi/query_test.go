package httpapi

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzQuery: an accepted parameter was given once, under one of its names, and has the given value.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"", "path=a.md", "path=a.md&path=b.md", "top_k=3&topK=3", "top_k=3&topK=4", "path=%00", "path=%zz", "a;b",
		"dir=&recursive=true&include_generated=maybe&glob=*.md", "path=..%2f..%2fx", "q=" + strings.Repeat("%41", 5000),
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = raw
		q, err := parseQuery(r, nil)
		if err != nil {
			return
		}
		values, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatalf("%q was accepted: %v", raw, err)
		}
		for key, got := range q {
			names := 0
			for name, list := range values {
				if k, known := canonical(name, nil); known && k == key {
					names++
					if len(list) != 1 || list[0] != got {
						t.Fatalf("%q: %s is %q, given %q", raw, key, got, list)
					}
				}
			}
			if names == 0 {
				t.Fatalf("%q: %s was not given", raw, key)
			}
		}
	})
}
