package starter

import (
	"regexp"
	"strings"

	"evalctl/internal/environ"
	"evalctl/internal/redact"
)

// Secrets describes the sentences that are not asked about because they may contain a secret.
type Secrets struct {
	Sentences int
	// Path and Line are where the first one is, relative to the folder of the project.
	Path string
	Line int
}

var (
	// assigns is between a name and its value.
	assigns = regexp.MustCompile(`[:=]|\b(?:is|are|was|were|ist|war|est|es)\b`)
	// letters and digits in one run are how services write keys. Words and codes are shorter.
	longRun = regexp.MustCompile(`[A-Za-z0-9]{20,}`)
)

// maySecret reports whether a sentence has a known secret, gives a value to something that is named
// like a credential, or has a run of letters and digits like a key. It may be wrong either way: a
// question less is better than a password in the questions, which are shown and shared.
func maySecret(sentence string, known *redact.Redactor) bool {
	if known.Text(sentence) != sentence {
		return true
	}
	for _, run := range longRun.FindAllString(sentence, -1) {
		if strings.ContainsAny(run, "0123456789") && strings.Trim(run, "0123456789") != "" {
			return true
		}
	}
	for _, at := range assigns.FindAllStringIndex(sentence, -1) {
		name := strings.Join(wordsOf(sentence[:at[0]]), "_")
		if environ.MentionsSecret(name, strings.TrimSpace(sentence[at[1]:])) {
			return true
		}
	}
	return false
}

// add counts a sentence of a document.
func (s *Secrets) add(path, text, sentence string) {
	if s.Sentences++; s.Sentences > 1 {
		return
	}
	words := strings.Fields(sentence)
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	s.Path, s.Line = corpusFolder+"/"+path, 1
	// A wrapped sentence may have marks of a quotation at its line breaks. \s is not all white space.
	if at := regexp.MustCompile(strings.Join(words, `[\s\v\x{85}\pZ>]+`)).FindStringIndex(text); at != nil {
		s.Line += strings.Count(text[:at[0]], "\n")
	}
}
