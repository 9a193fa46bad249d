package target

import "evalctl/internal/redact"

// minSecret is the length of the shortest token that is redacted in responses. Answers may contain
// a shorter one for other reasons.
const minSecret = 8

// Secrets returns tokens, other than those that are empty or too short, and further secrets.
func Secrets(more []redact.Secret, tokens ...string) (all []redact.Secret) {
	for _, token := range tokens {
		if len(token) >= minSecret {
			all = append(all, redact.Token(token))
		}
	}
	return append(all, more...)
}

// NewRedactor returns a redactor of Secrets.
func NewRedactor(more []redact.Secret, tokens ...string) *redact.Redactor {
	return redact.New(Secrets(more, tokens...)...)
}
