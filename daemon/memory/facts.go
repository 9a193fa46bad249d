package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

// The folders of the documents that the daemon writes by itself.
const (
	factsFolder    = "memory/agent/facts/"
	episodesFolder = "memory/agent/episodes/"
)

// keySeal is the key of the front matter with the hash of the document.
const keySeal = "content_sha256"

// noSeal is the value of keySeal while the hash is computed.
var noSeal = strings.Repeat("0", 2*sha256.Size)

// sealedDocument returns the text of a document that the daemon writes by itself. Its front matter
// has the fields and a hash of the document, with which isSealed detects changes. The daemon
// rewrites or deletes only such documents on its own.
func sealedDocument(body string, f frontmatter.Fields) (string, error) {
	metadata := map[string]any{keySeal: noSeal}
	for key, value := range f.Metadata {
		if key != keySeal {
			metadata[key] = value
		}
	}
	f.Metadata = metadata
	// Set would take front matter at the beginning of the body for the document's own.
	text, err := frontmatter.Set("\n"+body, f)
	if err != nil {
		return "", err
	}
	return strings.Replace(text, sealLine(noSeal), sealLine(sealOf(text)), 1), nil
}

// sealLine is the line of the front matter with the hash, as frontmatter.Set writes it.
func sealLine(seal string) string { return "\n" + keySeal + `: "` + seal + "\"\n" }

func sealOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// isSealed reports whether the daemon wrote a document and nobody has changed it since.
func isSealed(text string) bool {
	doc := frontmatter.Parse(text)
	seal, _ := doc.Metadata[keySeal].(string)
	if len(seal) != len(noSeal) || doc.Source == "" || doc.Source == protocol.SourceIngest {
		return false
	}
	return sealOf(strings.Replace(text, sealLine(seal), sealLine(noSeal), 1)) == seal
}

// fact is one line of a document of facts: "- 2024-05-08: text", or "- text" without a date.
type fact struct {
	Text string    // one line
	Date time.Time // day the fact is about, at midnight in UTC; zero if unknown
}

// String returns the line without a line break.
func (f fact) String() string {
	if f.Date.IsZero() {
		return "- " + factText(f.Text)
	}
	return "- " + f.Date.Format(time.DateOnly) + ": " + factText(f.Text)
}

// factText joins the words of s with single spaces, because a line break would end the fact.
func factText(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// factsPath returns the document of the facts of the session with that key.
func factsPath(key string) string { return factsFolder + key + markdownExt }

// factsDocument returns the document of the facts of a session, which ends on day when. actors are
// the known ids of the speakers.
func factsDocument(session string, when time.Time, facts []fact, actors ...string) (string, error) {
	var body strings.Builder
	for _, f := range facts {
		body.WriteString(f.String() + "\n")
	}
	metadata := map[string]any{"session_id": session}
	if len(actors) > 0 {
		metadata[protocol.MetadataActorID] = strings.Join(actors, ",")
	}
	return sealedDocument(body.String(), frontmatter.Fields{
		Title:    "Facts from session " + clip(factText(session), 80),
		Date:     when,
		Source:   protocol.SourceExtract,
		Metadata: metadata,
	})
}

// actorsOf returns the actors of a document of facts.
func actorsOf(doc frontmatter.Document) []string {
	joined, _ := doc.Metadata[protocol.MetadataActorID].(string)
	if joined == "" {
		return nil
	}
	return strings.Split(joined, ",")
}

// addFacts returns a document of facts with more facts at its end, without those that it already
// has. old is the present document, or nil. Facts are also added to a document that a user has
// changed. It remains the user's: isSealed is false for it.
func addFacts(old []byte, session string, when time.Time, facts []fact, actors ...string) (string, error) {
	all := parseFacts(string(old))
	had := len(all)
	seen := map[string]bool{}
	for _, f := range all {
		seen[f.String()] = true
	}
	for _, f := range facts {
		if line := f.String(); !seen[line] && factText(f.Text) != "" {
			seen[line] = true
			all = append(all, f)
		}
	}
	if old == nil || isSealed(string(old)) {
		merged := actorsOf(frontmatter.Parse(string(old)))
		for _, actor := range actors {
			if !slices.Contains(merged, actor) {
				merged = append(merged, actor)
			}
		}
		return factsDocument(session, when, all, merged...)
	}
	text := string(old)
	for _, f := range all[had:] {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += f.String() + "\n"
	}
	return text, nil
}

var factLine = regexp.MustCompile(`^- (?:(\d{4}-\d\d-\d\d): )?(\S.*)$`)

// parseFacts returns the facts of a document of the daemon or a user. It skips other lines.
func parseFacts(text string) []fact {
	var facts []fact
	for line := range strings.Lines(frontmatter.Parse(text).Body) {
		m := factLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		f := fact{Text: factText(m[2])}
		if m[1] != "" {
			day, err := time.Parse(time.DateOnly, m[1])
			if err != nil {
				f.Text = factText(fmt.Sprintf("%s: %s", m[1], m[2]))
			}
			f.Date = day
		}
		if f.Text != "" { // not for control characters alone
			facts = append(facts, f)
		}
	}
	return facts
}
