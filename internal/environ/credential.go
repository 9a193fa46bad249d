package environ

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/internal/redact"
)

// modelProviders are the first words of the variables of model providers and of servers that are
// used like one.
var modelProviders = []string{
	"AI21", "ANTHROPIC", "AWS", "AZURE", "BEDROCK", "CEREBRAS", "CLAUDE", "COHERE", "CO", "DASHSCOPE", "DEEPINFRA",
	"DEEPSEEK", "FIREWORKS", "GEMINI", "GOOGLE", "GROQ", "HF", "HUGGINGFACE", "HUGGINGFACEHUB", "JINA",
	"LITELLM", "LLAMA", "LMSTUDIO", "MISTRAL", "MOONSHOT", "NEBIUS", "NOMIC", "NVIDIA", "OLLAMA", "OPENAI",
	"OPENROUTER", "PERPLEXITY", "QWEN", "REPLICATE", "SAMBANOVA", "TOGETHER", "VERTEX", "VERTEXAI", "VLLM", "VOYAGE",
	"WATSONX", "XAI", "ZHIPUAI",
}

// The words of a name, each as "_WORD_". A name that has one of secretWords, or ends in one of
// secretEndings, belongs to a credential of any service. The provider's endings count for model
// providers only.
var (
	secretWords = []string{
		"_API_KEY_", "_API_KEYS_", "_APIKEY_", "_APIKEYS_", "_API_TOKEN_", "_ACCESS_KEY_", "_BEARER_TOKEN_", "_SECRET_",
		"_SECRETS_", "_CREDENTIAL_", "_CREDENTIALS_",
	}
	secretEndings    = []string{"_TOKEN_", "_TOKEN_FILE_"}
	providersEndings = []string{"_KEY_", "_KEYS_", "_PROFILE_", "_URL_", "_HOST_", "_ENDPOINT_", "_BASE_"}

	// maskedWords and maskedEndings are more names whose values are masked.
	maskedWords   = []string{"_TOKEN_", "_PASSWORD_", "_PASSWD_", "_PASSPHRASE_", "_PRIVATE_KEY_", "_PGPASSWORD_"}
	maskedEndings = []string{"_KEY_", "_KEYS_", "_PASS_", "_PWD_", "_PAT_", "_AUTH_", "_COOKIE_"}
	// openEndings are the names whose values are not secret: where something is.
	openEndings = []string{"_FILE_", "_PATH_", "_DIR_", "_URL_", "_HOST_", "_ENDPOINT_", "_PROFILE_"}
)

// words returns the name in upper case between underscores, which separate its words.
func words(name string) string {
	return "_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) + "_"
}

func hasAny(words string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(words, part) })
}

func endsInAny(words string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(words, part) })
}

// LooksSecret reports whether a variable of this name may let a program spend money: the name looks
// like the name of a credential of any service, or of the address of a model provider. Upper and
// lower case are the same. It judges only names, so it can be wrong either way.
func LooksSecret(name string) bool {
	w := words(name)
	if hasAny(w, secretWords) || endsInAny(w, secretEndings) {
		return true
	}
	first, _, _ := strings.Cut(w[1:], "_")
	return slices.Contains(modelProviders, first) && endsInAny(w, providersEndings)
}

// Secrets returns the secrets in an environment, a list of NAME=VALUE: the values of variables that
// are named like a credential, and the passwords in URLs.
func Secrets(environ []string) (secrets []redact.Secret) {
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		values := passwords(value)
		if HoldsSecret(name, value) {
			values = append(values, value)
		}
		for _, secret := range values {
			if len(secret) >= minSecret {
				secrets = append(secrets, redact.Secret{Name: name, Value: secret})
			}
		}
	}
	return secrets
}

// minSecret is the length of the shortest secret. Texts may contain a shorter one for other reasons.
const minSecret = 8

// HoldsSecret reports whether a variable looks like a credential. The path of a file with a
// credential is not a secret.
func HoldsSecret(name, value string) bool {
	w := words(name)
	if w == "_PWD_" || endsInAny(w, openEndings) || strings.Contains(value, "://") {
		return false
	}
	return namesSecret(w, value)
}

// spokenWords name credentials in texts in German, French and Spanish.
var spokenWords = []string{"_PASSWORT_", "_PASSWÖRTER_", "_KENNWORT_", "_MOT_DE_PASSE_", "_MOTS_DE_PASSE_", "_CONTRASEÑA_", "_CLAVE_SECRETA_"}

// MentionsSecret reports whether the words before a value in a text name a credential, in English,
// German, French or Spanish. After words such as password and token may come another thing, unlike
// in the name of a variable: "the passwords of the host".
func MentionsSecret(text, value string) bool {
	w := words(text)
	return hasAny(w, spokenWords) || namesSecret(w, value) || namesSecret(strings.ReplaceAll(w, "S_", "_"), value)
}

// namesSecret reports whether words name a credential, if the value of some is not a path.
func namesSecret(words, value string) bool {
	if hasAny(words, secretWords) || hasAny(words, maskedWords) {
		return true
	}
	isPath := filepath.IsAbs(value) || strings.HasPrefix(value, ".") || strings.HasPrefix(value, "~")
	return endsInAny(words, maskedEndings) && !isPath
}

// passwords returns the password of a URL, as it is written and as it is meant.
func passwords(value string) (found []string) {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return nil
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		return nil
	}
	user, password, ok := strings.Cut(authority[:at], ":")
	if !ok {
		password = user // such as a token alone
	}
	found = append(found, password)
	if meant, err := url.PathUnescape(password); err == nil && meant != password {
		found = append(found, meant)
	}
	return found
}
