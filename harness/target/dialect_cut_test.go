package target

import (
	"strings"
	"testing"

	"evalctl/internal/jsonobj"
)

// TestIsCut: a preview of 512 characters may be cut, however they are counted, and a shorter one is not.
func TestIsCut(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, strings.Repeat("a", 511): false, strings.Repeat("a", 512): true,
		strings.Repeat("ä", 511): false, strings.Repeat("ä", 512): true,
		strings.Repeat("😀", 255): false, strings.Repeat("😀", 256): true,
	} {
		if got := isCut(text); got != want {
			t.Errorf("%d bytes of %.4q: %v", len(text), text, got)
		}
	}
	o, err := jsonobj.Parse([]byte(`{"chunks": [{"preview": "` + strings.Repeat("a", 512) + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	of, errOf := Chunks(o, "chunks")
	found, errFound := SearchChunks(o)
	if errOf != nil || errFound != nil || !of[0].Cut || found[0].Cut {
		t.Errorf("of an answer %v, %v, of a search %v, %v", of, errOf, found, errFound)
	}
}
