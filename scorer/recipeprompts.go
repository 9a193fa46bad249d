package scorer

import (
	"embed"
	"fmt"
	"strings"

	"evalctl/internal/llm"
)

// The names of the built-in recipes, by how much they ask of an answer.
const (
	RecipeStrict    = "strict"
	RecipeBenchmark = "benchmark"
	RecipeGenerous  = "generous"
)

// recipeSets are the prompts of the built-in recipes.
var recipeSets = map[string]func() PromptSet{
	RecipeStrict: StrictPrompts, RecipeBenchmark: ReplayPrompts, RecipeGenerous: GenerousPrompts,
}

// RecipePrompts returns the prompts of a built-in recipe, by type. An error lists the recipes.
func RecipePrompts(name string) (PromptSet, error) {
	if set, ok := recipeSets[name]; ok {
		return set(), nil
	}
	return nil, fmt.Errorf("no recipe is called %.80q; there are %s, or the path of a recipe file such as ./vendor.yaml",
		name, strings.Join([]string{RecipeStrict, RecipeBenchmark, RecipeGenerous}, ", "))
}

// The versions are part of the names of the prompts. A change of any of the texts needs another.
const (
	replayVersion   = "replay-1"
	strictVersion   = "strict-1"
	generousVersion = "generous-1"
)

// ReplayPrompts returns the prompts for published benchmarks, one for each of Types. Unlike those
// of DefaultPrompts they ask for 0 or 1, as benchmarks count questions and no parts of them.
func ReplayPrompts() PromptSet { return recipeSet("replay", replayVersion, nil) }

// StrictPrompts returns prompts by which an answer is right only if it states everything that the
// reference does, and nothing else about what was asked.
func StrictPrompts() PromptSet { return recipeSet("strict", strictVersion, strictOffline) }

// GenerousPrompts returns prompts as lenient as those of several published evaluations: an answer is
// right if it is on the topic and agrees with the reference in some part.
func GenerousPrompts() PromptSet { return recipeSet("generous", generousVersion, generousOffline) }

const replayRepair = `Your reply could not be used: %v. Decide on the same candidate_answer again. Reply with exactly one JSON object and nothing else, without code fences: {"score": <1 if it is right, 0 if it is wrong>, "reason": "<one short sentence>"}`

// recipeSet returns the prompts in a folder: the rules of each type, of which those with a fact as
// reference share the file facts, between what all recipes begin and end with.
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

// promptText returns the text of a file in the folder prompts.
func promptText(name string) string {
	text, err := promptTexts.ReadFile("prompts/" + name + ".txt")
	if err != nil {
		panic(err) // embedded
	}
	return strings.TrimSuffix(string(text), "\n")
}

// strictOffline passes what the offline judge finds right in every part.
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
