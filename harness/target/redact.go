package target

import "evalctl/internal/redact"

// minSecret is the minimum length of a token, or of a variable's value, that is redacted in
// responses. Shorter ones may occur in answers by chance.
const minSecret = 8

// Secrets returns the tokens that are long enough, and further secrets.
func Secrets(more []redact.Secret, tokens ...string) (all []redact.Secret) {
	for _, token := range tokens {
		if len(token) >= minSecret {
			all = append(all, redact.Token(token))
		}
	}
	return append(all, more...)
}

// VariableSecrets returns the values of environment variables that are long enough.
func VariableSecrets(names []string, env func(string) string) (all []redact.Secret) {
	for _, name := range names {
		if value := env(name); len(value) >= minSecret {
			all = append(all, redact.Secret{Name: name, Value: value})
		}
	}
	return all
}

// NewRedactor returns a redactor of Secrets.
func NewRedactor(more []redact.Secret, tokens ...string) *redact.Redactor {
	return redact.New(Secrets(more, tokens...)...)
}
