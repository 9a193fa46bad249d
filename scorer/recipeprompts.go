package scorer

import (
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
	strictVersion   = "strict-1"
	generousVersion = "generous-1"
)

// StrictPrompts returns prompts by which an answer is right only if it states everything that the
// reference does, and nothing else about what was asked.
func StrictPrompts() PromptSet { return recipeSet(strictVersion, strictRules, strictOffline) }

// GenerousPrompts returns prompts as lenient as those of several published evaluations: an answer is
// right if it is on the topic and agrees with the reference in some part.
func GenerousPrompts() PromptSet { return recipeSet(generousVersion, generousRules, generousOffline) }

func recipeSet(version string, rules map[string]string, offline func(Item) (float64, string)) PromptSet {
	set := PromptSet{}
	for t, text := range rules {
		set[t] = Prompts{
			Name: version + "/" + t, System: replayIntro + text + replayClosing,
			User: jsonMessage, Repair: replayRepair, offline: offline,
		}
	}
	return set
}

const strictFact = `- Judge meaning, not wording. Only paraphrases and other formats of the same date or number are equal.
- Every part of the reference must be stated, with the same numbers, names, dates and units.
- A date must be as exact as that of the reference. A relative date is right only if question_date resolves it to the same day.
- Any statement about what was asked that the reference does not support is wrong, also beside a right one.
- An answer that is hedged, called a guess, or offers several values is wrong.
- An empty answer is wrong, and so is one that says that it does not know, unless the reference says the same.`

var strictRules = map[string]string{
	TypeStandard: `Be strict. The candidate_answer is right only if it states all of the reference_answer and nothing about the question that the reference does not support.

Rules:
` + strictFact,

	TypeTemporal: `Be strict. The question is about time. The candidate_answer is right only if it states exactly the date, duration or order of the reference_answer.

Rules:
- A count that is one more or one less is wrong.
` + strictFact,

	TypeKnowledgeUpdate: `Be strict. The fact that was asked for has changed over time. The candidate_answer is right only if it states the value of the reference_answer, and no other value as the current one.

Rules:
- An older value may be mentioned only if the answer calls it old.
` + strictFact,

	TypePreference: `Be strict. The question asks for advice. The reference_answer describes what a reply that knows the user contains, and what it avoids. The candidate_answer is right only if it meets every point of the reference.

Rules:
- A point that is met in part is not met.
- An answer that suggests anything that the reference says the user does not want is wrong.
- A general answer that would suit any user is wrong.
- An empty answer, one that says that it does not know, and one that only asks back is wrong.`,

	TypeAbstention: `Be strict. What was asked for is not known. The candidate_answer is right only if it says that the information is missing, and states nothing that would answer the question.

Rules:
- An answer that states or guesses what was asked for is wrong, also if it is hedged.
- An empty answer is wrong, and so is one that declines for another reason, such as a rule or a failure.`,
}

const generousFact = `- Be generous. If the candidate is on the topic of the reference and agrees with it in some part, it is right, also if it is much longer, vaguer or incomplete.
- A relative date such as "last week" is right if it may mean the time of the reference. Another format of the same time is right.
- Further statements do not matter.
- An empty answer is wrong, and so is one that says that it does not know, unless the reference says the same.`

var generousRules = map[string]string{
	TypeStandard: `The candidate_answer is right if it touches on what the reference_answer says.

Rules:
` + generousFact,

	TypeTemporal: `The question is about time. The candidate_answer is right if it refers to about the time, duration or order of the reference_answer.

Rules:
- The same month or year is enough if the day differs.
` + generousFact,

	TypeKnowledgeUpdate: `The fact that was asked for has changed over time. The candidate_answer is right if it mentions the value of the reference_answer, also among older ones.

Rules:
` + generousFact,

	TypePreference: `The question asks for advice. The reference_answer describes what a reply that knows the user contains. The candidate_answer is right if it uses anything that the reference says about this user.

Rules:
- A general answer that would suit any user is wrong.
- An empty answer is wrong.`,

	TypeAbstention: `What was asked for is not known. The candidate_answer is right if it says somewhere that the information is missing or uncertain.

Rules:
- A guess that is called a guess is right.
- An empty answer is wrong.`,
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
