package protocol_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

// FuzzParseTranscript: what a text is read as is read as the same again once it is written.
func FuzzParseTranscript(f *testing.F) {
	for _, text := range []string{
		"\n**user** (Anna):\n> a\n>\n> b\n\n**assistant**:\n> c\n", "**user**:\n", "**tool** (\\*):\n>\tx\n>  y", "> a",
		"**user**:\n>a\r\n", "**user** (  a  ):\n> b", "**user** ():\n>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		messages, ok := protocol.ParseTranscript(text)
		if !ok {
			return
		}
		// One round may normalize line breaks and white space of names.
		first, ok := protocol.ParseTranscript(protocol.Transcript(messages...))
		if !ok || len(first) != len(messages) {
			t.Fatalf("%q became %+v, then %+v", text, messages, first)
		}
		second, _ := protocol.ParseTranscript(protocol.Transcript(first...))
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
}
