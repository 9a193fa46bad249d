package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestBadge: a badge is one well-formed file, whatever its texts are.
func TestBadge(t *testing.T) {
	for _, text := range []string{"memory", `<script>"&'</script>`, "ä→b", ""} {
		badge := Badge(text, text+" 0.9", Good)
		d, words := xml.NewDecoder(strings.NewReader(badge)), ""
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v: %s", text, err, badge)
			}
			switch v := token.(type) {
			case xml.StartElement:
				if v.Name.Local == "script" {
					t.Errorf("%q is a script: %s", text, badge)
				}
			case xml.CharData:
				words += "|" + string(v)
			}
		}
		if !strings.Contains(words, "|"+text+"|"+text+" 0.9") && text != "" {
			t.Errorf("%q: the texts are %q", text, words)
		}
	}
}
