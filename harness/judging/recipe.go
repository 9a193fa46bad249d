package judging

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"evalctl/internal/inputfile"
	"evalctl/internal/llm"
	"evalctl/internal/yamlfile"

	"evalctl/scorer"
)

// Recipe is a way of judging, built in or described in a file.
type Recipe struct {
	Name string
	// Prompts are by question type.
	Prompts scorer.PromptSet
	// Model is [PROVIDER/]MODEL, empty for the run's judge.
	Model       string
	Temperature float64
	// Options are the options set in the file.
	Options llm.Options
}

// recipeFile is a file that describes a recipe.
type recipeFile struct {
	Name        string `yaml:"name"`
	Prompt      string `yaml:"prompt"`
	System      string `yaml:"system"`
	User        string `yaml:"user"`
	Model       string `yaml:"model"`
	Temperature string `yaml:"temperature"`
	// How to ask the model, as with --judge-option, where SystemRole is called system.
	MaxTokens     string `yaml:"max_tokens"`
	MaxCompletion string `yaml:"max_completion_tokens"`
	Format        string `yaml:"response_format"`
	SystemRole    string `yaml:"system_role"`
	Reply         *struct {
		Key   string   `yaml:"key"`
		Right []string `yaml:"right"`
		Wrong []string `yaml:"wrong"`
	} `yaml:"reply"`
}

// Recipes returns the recipes of a panel: built-in ones by name, others by file path, which
// contains a slash or ends in .yaml or .yml. The first is the headline, and may be the only one.
// Their names must differ.
func Recipes(list []string) ([]Recipe, error) {
	var out []Recipe
	for _, text := range list {
		r, err := recipeOf(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Recipe) bool { return o.Name == r.Name }) {
			return nil, fmt.Errorf("two recipes are called %q; name each once", r.Name)
		}
		out = append(out, r)
	}
	return out, nil
}

// IsRecipeFile reports whether text is a file path rather than a built-in name.
func IsRecipeFile(text string) bool {
	ext := filepath.Ext(text)
	return ext == ".yaml" || ext == ".yml" || strings.ContainsRune(text, '/')
}

// AbsoluteFiles makes a panel's file paths absolute, because a run may be resumed in another
// folder.
func AbsoluteFiles(panel []string) (err error) {
	for i, r := range panel {
		if IsRecipeFile(r) && err == nil {
			panel[i], err = filepath.Abs(r)
		}
	}
	return err
}

func recipeOf(text string) (Recipe, error) {
	if IsRecipeFile(text) {
		return readRecipe(text)
	}
	set, err := scorer.RecipePrompts(text)
	return Recipe{Name: text, Prompts: set}, err
}

// maxRecipe limits the size of a recipe file, in bytes.
const maxRecipe = 64 << 10

var recipeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?$`)
})

// readRecipe reads a recipe file. Errors include its path.
func readRecipe(path string) (Recipe, error) {
	data, err := inputfile.ReadText(path, maxRecipe)
	if err != nil {
		return Recipe{}, fmt.Errorf("read the recipe: %w", err)
	}
	var file recipeFile
	if err := yamlfile.Decode(path, data, &file); errors.Is(err, yamlfile.ErrEmpty) {
		return Recipe{}, fmt.Errorf("%s is empty; a recipe has a prompt, or user and reply", path)
	} else if err != nil {
		return Recipe{}, err
	}
	if file.Name == "" {
		file.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	sum := sha256.Sum256(data)
	r, err := file.recipe(hex.EncodeToString(sum[:]))
	if err != nil {
		return Recipe{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// recipe checks the file. digest is the digest of its bytes.
func (f recipeFile) recipe(digest string) (Recipe, error) {
	r := Recipe{Name: f.Name, Model: f.Model}
	for _, o := range []struct{ name, value string }{
		{llm.LimitTokens, f.MaxTokens}, {llm.LimitCompletion, f.MaxCompletion}, {"temperature", f.Temperature},
		{"response_format", f.Format}, {"system", f.SystemRole},
	} {
		if o.value == "" {
			continue
		}
		if err := r.Options.Set(o.name, o.value); err != nil {
			return r, err
		}
	}
	r.Temperature, _ = r.Options.Degrees()
	switch {
	case !recipeName().MatchString(f.Name):
		return r, fmt.Errorf("the name %.60q must be up to 40 lower-case letters, digits, dots, hyphens and underscores", f.Name)
	case f.Prompt != "" && (f.System != "" || f.User != "" || f.Reply != nil):
		return r, errors.New("prompt names a built-in recipe, and excludes system, user and reply")
	case f.Prompt != "":
		var err error
		r.Prompts, err = scorer.RecipePrompts(f.Prompt)
		return r, err
	case f.User == "" || f.Reply == nil:
		return r, errors.New("a recipe has prompt, the name of a built-in one, or user and reply")
	}
	p, err := f.prompts(digest)
	if err != nil {
		return r, err
	}
	r.Prompts = scorer.PromptSet{}
	for _, t := range scorer.Types() {
		r.Prompts[t] = p
	}
	return r, nil
}

// placeholder matches a placeholder for a part of the item in a user message.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
})

// prompts returns the prompts of a file with its own user message.
func (f recipeFile) prompts(digest string) (scorer.Prompts, error) {
	known := map[string]func(scorer.Item) string{
		"question":         func(i scorer.Item) string { return i.Question },
		"question_date":    func(i scorer.Item) string { return i.QuestionDate },
		"reference_answer": func(i scorer.Item) string { return i.Reference },
		"candidate_answer": func(i scorer.Item) string { return i.Answer },
	}
	used := map[string]bool{}
	for _, m := range placeholder().FindAllStringSubmatch(f.User, -1) {
		if known[m[1]] == nil {
			return scorer.Prompts{}, fmt.Errorf("user has {{%.40s}}; there are {{question}}, {{question_date}}, {{reference_answer}} "+
				"and {{candidate_answer}}", m[1])
		}
		used[m[1]] = true
	}
	if !used["candidate_answer"] || !used["reference_answer"] {
		return scorer.Prompts{}, errors.New("user lacks {{reference_answer}} or {{candidate_answer}}, without which nothing can be judged")
	}
	system := f.System
	if system == "" {
		system = "You grade answers."
	}
	labels := &scorer.Labels{Key: f.Reply.Key, Right: f.Reply.Right, Wrong: f.Reply.Wrong}
	form := "Reply with one word alone: " + strings.Join(append(slices.Clone(labels.Right), labels.Wrong...), " or ") + "."
	if labels.Key != "" {
		form = fmt.Sprintf("Reply with one JSON object alone, whose key %q has one of the words %s.", labels.Key,
			strings.Join(append(slices.Clone(labels.Right), labels.Wrong...), ", "))
	}
	form = strings.ReplaceAll(form, "%", "")
	return scorer.Prompts{
		Name: "file:" + f.Name + "-" + digest[:12], System: system, Labels: labels,
		Repair: "Your reply could not be used: %v. Grade the same answer again. " + form,
		User: func(item scorer.Item) string {
			return placeholder().ReplaceAllStringFunc(f.User, func(text string) string {
				return known[placeholder().FindStringSubmatch(text)[1]](item)
			})
		},
	}, nil
}
