package scorer

import (
	"embed"
	"fmt"
	"strings"

	"evalctl/internal/llm"
)

// The names of the built-in recipes, from the strictest to the most lenient.
const (
	RecipeStrict    = "strict"
	RecipeBenchmark = "benchmark"
	RecipeGenerous  = "generous"
)

// recipeSets are the prompts of the built-in recipes.
var recipeSets = map[string]func() PromptSet{
	RecipeStrict: strictPrompts, RecipeBenchmark: ReplayPrompts, RecipeGenerous: generousPrompts,
}

// RecipePrompts returns the prompts of a built-in recipe by type. The error lists the recipes.
func RecipePrompts(name string) (PromptSet, error) {
	if set, ok := recipeSets[name]; ok {
		return set(), nil
	}
	return nil, fmt.Errorf("no recipe is called %.80q; there are %s, or the path of a recipe file such as ./vendor.yaml",
		name, strings.Join([]string{RecipeStrict, RecipeBenchmark, RecipeGenerous}, ", "))
}

// The versions are part of the prompts' names. Changing any text requires a new version.
const (
	replayVersion   = "replay-1"
	strictVersion   = "strict-1"
	generousVersion = "generous-1"
)

// ReplayPrompts returns the prompts for published benchmarks, one for each of Types. Unlike
// DefaultPrompts they ask for 0 or 1, because benchmarks count whole questions.
func ReplayPrompts() PromptSet { return recipeSet("replay", replayVersion, nil) }

// strictPrompts returns prompts that accept an answer only if it states everything in the reference
// and nothing else about the subject of the question.
func strictPrompts() PromptSet { return recipeSet("strict", strictVersion, strictOffline) }

// generousPrompts returns prompts as lenient as several published evaluations: an answer is right
// if it is on the topic and agrees with some part of the reference.
func generousPrompts() PromptSet { return recipeSet("generous", generousVersion, generousOffline) }

const replayRepair = `Your reply could not be used: %v. Decide on the same candidate_answer again. Reply with exactly one JSON object and nothing else, without code fences: {"score": <1 if it is right, 0 if it is wrong>, "reason": "<one short sentence>"}`

// recipeSet returns the prompts in a folder. Each type's rules stand between the common
// introduction and closing. Types with a fact as reference include the file facts.
func recipeSet(dir, version string, offline func(Item) (float64, string)) PromptSet {
	set := PromptSet{}
	for _, t := range types {
		rules := strings.Replace(promptText(dir+"/"+t), "{{facts}}", promptText(dir+"/facts"), 1)
		set[t] = Prompts{
			Name: version + "/" + t, System: promptText("intro") + "\n\n" + rules + "\n\n" + promptText("closing"),
			User: jsonMessage, Repair: replayRepair, offline: offline,
		}
	}
	return set
}

//go:embed prompts
var promptTexts embed.FS

// promptText returns a file of the folder prompts.
func promptText(name string) string {
	text, err := promptTexts.ReadFile("prompts/" + name + ".txt")
	if err != nil {
		panic(err) // embedded
	}
	return strings.TrimSuffix(string(text), "\n")
}

// strictOffline passes only a full score of the offline judge.
func strictOffline(item Item) (float64, string) {
	score, reason := fakeVerdict(item)
	if score < 1 {
		return 0, reason
	}
	return 1, reason
}

// generousOffline passes an answer that has any word of the reference.
func generousOffline(item Item) (float64, string) {
	score, reason := fakeVerdict(item)
	if score >= PassMark || item.Type == TypeAbstention || Declines(item.Answer) {
		return score, reason
	}
	have := llm.Terms(item.Answer)
	for term := range llm.Terms(item.Reference) {
		if have[term] {
			return 1, "a word of the reference was found"
		}
	}
	return 0, reason
}
