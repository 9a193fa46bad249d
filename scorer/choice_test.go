package scorer

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// choices are forms of answers to multiple-choice questions, with the option that each chooses.
var choices = []struct{ answer, want string }{
	// The letter alone.
	{"(b)", "b"}, {"b", "b"}, {"B", "b"}, {"B.", "b"}, {"b)", "b"}, {"[B]", "b"}, {"**C**", "c"}, {"**(c)**", "c"}, {"`d`", "d"}, {"Ｂ", "b"}, {"（ｂ）", "b"},
	{"A", "a"}, {"a.", "a"}, {"I", "i"}, {"\n\n  (b)\n", "b"}, {"<think>(a) or (b)? Say (a).</think>\n(b)", "b"}, {"# B", "b"},
	// The letter first.
	{"d) because it is green", "d"}, {"B because it is green", "b"}, {"B - it is green", "b"}, {"b: it is green", "b"}, {"(b) It is green.", "b"},
	{"(b). Option (a) ignores that you are afraid.", "b"}, {"B. Option A ignores that.", "b"}, {"(b)\n\n(a) is wrong, as you sold the boat.", "b"},
	{"(b) rather than (a)", "b"}, {"B, not A", "b"}, {"(b), since (a) and (c) repeat what you did", "b"},
	// Called the answer.
	{"The answer is (a).", "a"}, {"The answer is b", "b"}, {"The answer is B because it is green.", "b"}, {"Answer: b", "b"}, {"ANSWER: B", "b"},
	{"**Answer:** (c)", "c"}, {"Answer: **(c)** It is green.", "c"}, {"Answer - B", "b"}, {"Answer = B", "b"}, {"## Answer\n(b)", "b"}, {"My answer is:\n\n(b)", "b"},
	{"Final answer: (b)\nOption (c) would need a boat that you sold.", "b"}, {"<final_answer>(b)", "b"}, {"<answer>B</answer>", "b"},
	{"It is either (a) or (b).\n\nFinal answer: B", "b"}, {"{\"answer\": \"b\"}", "b"}, {"The best answer to the question is option (b).", "b"},
	{"The correct option is (d)", "d"}, {"The right choice would be B.", "b"}, {"Best is **(b)**.\n\nOption (d) repeats what you did in May.", "b"},
	{"$\\boxed{B}$", "b"}, {"So \\(\\boxed{\\text{(b)}}\\), not (a).", "b"}, {"First (a)? No. \\boxed{b}", "b"},
	// Chosen.
	{"I choose option (c), not (a).", "c"}, {"I'd go with B here.", "b"}, {"I go for (b). I did not choose (c), as it is far away.", "b"},
	{"I would pick B over A.", "b"}, {"I recommend (b) instead of (a).", "b"}, {"My answer is (b) rather than option (a).", "b"},
	{"Between (a) and (b), I prefer (b).", "b"}, {"If I had to choose, I would select option B.", "b"}, {"Instead of (a), I choose (b).", "b"},
	{"Option B is the best choice.", "b"}, {"(a) is tempting, but (b) is correct.", "b"}, {"B is better than A", "b"}, {"(b) fits best, as you like boats; (a) does not.", "b"},
	{"You are right, it is (b).", "b"}, {"There is no doubt that it is (b).", "b"}, {"(a) is wrong, so the answer is (b).", "b"},
	{"Not A but B.", "b"}, {"The answer is not (a) but (b).", "b"}, {"Not (a). (b).", "b"}, {"Options (a) and (c) are wrong, so (b).", "b"},
	{"I first thought the answer is (a). No: the correct option is (d)", "d"},
	// The only one in parentheses, as PersonaMem has it.
	{"A cat is (b) and (b) again", "b"}, {"You will like this one (b), I think.", "b"}, {"Given the boat(s) that you have, f(x), maybe (c)", "c"},
	// The options again.
	{"(a) tea (b) milk (c) juice. Answer: c", "c"}, {"a) tea\nb) milk\n\nAnswer: b) milk", "b"}, {"(a) tea\n(b) milk\n(c) juice", ""}, {"(a) Tea.\n(b) Milk.", ""},
	{"(a) and (c) are wrong. (b)", "b"}, {"(a), (b) and (c) are all wrong; I would say (d)", "d"},
	// More of them.
	{"The best option is (c) because it fits.", "c"}, {"Based on your preferences, I'd suggest (d): a trip.", "d"},
	{"Option (b) aligns best with your taste.", "b"}, {"(b) aligns best with your preference, while (a) and (c) do not.", "b"},
	{"I think (b) is the most suitable.", "b"}, {"b) A trip to the sea", "b"}, {"Option B", "b"}, {"Option (b).", "b"}, {"option b: A trip", "b"},
	{"Choice: C", "c"}, {"The answer would be: (b)", "b"}, {"The correct answer is:\n\n**B) A trip**", "b"}, {"I'd say B.", "b"}, {"Definitely B!", "b"},
	{"B, definitely.", "b"}, {"My pick? (b).", "b"}, {"It's B", "b"}, {"Correct answer: B) foo", "b"}, {"Therefore, the answer is \\textbf{B}.", "b"},
	{"answer: (B) foo, not (A) bar", "b"}, {"Out of (a), (b), (c) and (d), the second one (b) is right", "b"},
	{"(a) is incorrect because x. (b) is incorrect because y. (c) is correct because z. (d) is incorrect.", "c"},
	{"Both (a) and (b) seem plausible, but (b) is better", "b"}, {"I would rule out (a) and (c). That leaves (b) and (d). I choose (d).", "d"},
	{"Final Answer: \n\n(b)", "b"}, {"Answer (b)", "b"}, {"answer b", "b"}, {"ANSWER: b) trip", "b"}, {"The answer is option b", "b"},
	{"The answer is: B. trip", "b"}, {"Sure! The answer is B.", "b"}, {"a. Tea", "a"}, {"Answer is A", "a"}, {"A is correct.", "a"},
	{"I'm going with A.", "a"}, {"It must be A.", "a"}, {"Option A", "a"}, {"I'd choose A, as you like tea.", "a"},
	{"I'd choose A since you like tea", "a"}, {"The answer is A) tea", "a"}, {"A) tea", "a"}, {"(A) tea", "a"},
	{"Looking at the options, B seems the best fit for you.", "b"}, {"Among the options, (b) is the one that matches what you told me.", "b"},
	{"(b) is the better choice than (a)", "b"}, {"I would not choose (a). I would choose (b).", "b"},
	{"I wouldn't go with (a), (c) or (d), which leaves (b).", "b"}, {"The answer isn't (a), it's (b).", "b"}, {"Rather than (a), (b).", "b"},
	{"Wait, I said (a), but the answer is (b).", "b"}, {"At first (a) looked right, but the answer is (b).", "b"},
	{"Answer: B\n\nExplanation: Option A is wrong since you hate boats, C and D as well.", "b"}, {"ANSWER: C\nANSWER: C", "c"},
	{"Answer: A\nAnswer: B", ""}, {"I pick a.", "a"}, {"I pick (a).", "a"}, {"pick b", "b"}, {"The best answer: b", "b"},
	{"My final choice is option C.", "c"}, {"The final answer is (c), although (a) is also correct.", "c"},
	{"Option (a) is the correct answer, option (b) is not.", "a"}, {"Options (a) and (b) are correct.", ""}, {"I can't choose between (a) and (b).", ""},
	{"None of (a), (b), (c), (d).", ""}, {"Maybe (a), maybe (b).", ""}, {"The answer is B, because A, C and D are wrong.", "b"}, {"B!", "b"},
	{"Is it (b)?", "b"}, {"(b), (c)", ""}, {"Answer: (a)/(b)", ""}, {"Answer: AB", ""}, {"Answer: A and B", ""}, {"Your plan B was good, so (c).", "c"},
	{"C is my answer.", "c"}, {"(c) is my answer.", "c"}, {"I believe C is right.", "c"}, {"I believe the answer to be C.", "c"},
	{"I would answer (c).", "c"}, {"Answering your question: (c).", "c"}, {"I'll take C.", "c"}, {"Let's go with option C!", "c"},
	{"C would be the ideal choice.", "c"}, {"The option that fits is C.", "c"}, {"The option which best reflects this is (c).", "c"},
	{"None of the others work, so C.", "c"}, {"Given X, option C is most appropriate.", "c"}, {"Option C: go.", "c"}, {"The correct letter is C", "c"},
	{"Correct: C", "c"}, {"C — go", "c"}, {"C\nBecause you like it.", "c"}, {"C. Because you like A.", "c"}, {"> (c)", "c"}, {"- (c) go", "c"},
	{"1. (c)", "c"},
	// Other languages.
	{"Die richtige Antwort ist (b).", "b"}, {"Ich wähle (b), nicht (a).", "b"}, {"Nicht (a), sondern (b).", "b"}, {"Antwort: B", "b"},
	{"La bonne réponse est (b).", "b"}, {"Je choisis la réponse (b) plutôt que (a).", "b"}, {"Ce n'est pas (a), mais (b).", "b"},
	{"La respuesta correcta es (b).", "b"}, {"No es (a), sino (b).", "b"}, {"Elijo la opción (b) en lugar de (a).", "b"},
	{"La risposta è (b), non (a).", "b"}, {"A resposta é (b), não (a).", "b"}, {"Ответ: (b), а не (a).", "b"}, {"答案是B。", "b"}, {"正确答案：(b)", "b"}, {"我选B，不是A。", "b"}, {"正解はBです。", "b"}, {"정답: B", "b"},
	// None, or several.
	{"", ""}, {"I do not know.", ""}, {"It could be (a) or (b).", ""}, {"(a) or (b)", ""}, {"A or B", ""}, {"Answer: A, B", ""}, {"The answer is (a) and (c).", ""},
	{"The answer is (a). The answer is (b).", ""}, {"I choose (a). I choose (b).", ""}, {"(a) and (b) are both correct.", ""}, {"Not (a).", ""}, {"The answer is not (a).", ""},
	{"(a) is wrong.", ""}, {"Neither (a) nor (b).", ""}, {"A boat.", ""}, {"a boat", ""}, {"Answer: a boat", ""}, {"I like it.", ""}, {"Because a. is", ""},
	{"It is a boat", ""}, {"I choose a boat.", ""}, {"The answer is a green boat.", ""}, {"\\boxed{A} \\boxed{B}", ""}, {"Take vitamin D.", ""}, {"I would go with a friend.", ""},
	{"<think>The answer is (b)", ""}, {"One option is (a), another is (b).", ""},
}

func TestChoiceOf(t *testing.T) {
	for _, tt := range choices {
		if got := choiceOf(tt.answer); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.answer, got, tt.want)
		}
	}
}

// FuzzChoiceOf: an option is chosen only if the answer has its letter.
func FuzzChoiceOf(f *testing.F) {
	for _, tt := range choices {
		f.Add(tt.answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		got := choiceOf(answer)
		if got != "" && (len(got) != 1 || !strings.Contains(strings.ToLower(norm.NFKC.String(answer)), got)) {
			t.Errorf("%q: %q", answer, got)
		}
	})
}
