package launch

import (
	"slices"
	"strings"
)

// modelProviders are the first words of the variables of model providers and of the servers that
// are used like one.
var modelProviders = []string{
	"AI21", "ANTHROPIC", "AWS", "AZURE", "BEDROCK", "CEREBRAS", "CLAUDE", "COHERE", "CO", "DASHSCOPE", "DEEPINFRA",
	"DEEPSEEK", "FIREWORKS", "GEMINI", "GOOGLE", "GROQ", "HF", "HUGGINGFACE", "HUGGINGFACEHUB", "JINA",
	"LITELLM", "LLAMA", "LMSTUDIO", "MISTRAL", "MOONSHOT", "NEBIUS", "NOMIC", "NVIDIA", "OLLAMA", "OPENAI",
	"OPENROUTER", "PERPLEXITY", "QWEN", "REPLICATE", "SAMBANOVA", "TOGETHER", "VERTEX", "VERTEXAI", "VLLM", "VOYAGE",
	"WATSONX", "XAI", "ZHIPUAI",
}

// What the words of a name say, each as "_WORD_". A name that has one of secretWords, or ends in
// one of secretEndings, is that of a credential of anybody. The others count for model providers
// only.
var (
	secretWords = []string{
		"_API_KEY_", "_API_KEYS_", "_APIKEY_", "_APIKEYS_", "_API_TOKEN_", "_ACCESS_KEY_", "_BEARER_TOKEN_", "_SECRET_",
		"_SECRETS_", "_CREDENTIAL_", "_CREDENTIALS_",
	}
	secretEndings    = []string{"_TOKEN_", "_TOKEN_FILE_"}
	providersEndings = []string{"_KEY_", "_KEYS_", "_PROFILE_", "_URL_", "_HOST_", "_ENDPOINT_", "_BASE_"}
)

// LooksSecret reports whether a variable of this name may let a daemon spend money: the name looks
// like that of a credential of any service, or of the address of a model provider. Upper and
// lower case are the same. It judges names only, so it can be wrong either way.
func LooksSecret(name string) bool {
	words := "_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) + "_"
	has := func(part string) bool { return strings.Contains(words, part) }
	ends := func(part string) bool { return strings.HasSuffix(words, part) }
	if slices.ContainsFunc(secretWords, has) || slices.ContainsFunc(secretEndings, ends) {
		return true
	}
	first, _, _ := strings.Cut(words[1:], "_")
	return slices.Contains(modelProviders, first) && slices.ContainsFunc(providersEndings, ends)
}

// without returns an environment without the variables of these names.
func without(environ, names []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
}
