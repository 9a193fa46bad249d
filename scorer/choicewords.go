package scorer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Words with which answers choose and reject options, in the languages of the benchmarks.
const (
	verbWords = `choose|chose|choosing|chosen|pick|picked|picking|select|selected|selecting|go for|go with|goes with|going for|going with|` +
		`went with|went for|opt for|opting for|opted for|prefer|take|recommend|suggest|vote for|settle on|stick with|` +
		`wähle|nehme|bevorzuge|empfehle|entscheide mich für|choisis|choisirais|sélectionne|opte pour|préfère|recommande|` +
		`elijo|elegiría|escojo|selecciono|opto por|prefiero|recomiendo|scelgo|seleziono|opto per|preferisco|` +
		`escolho|seleciono|prefiro|recomendo|выбираю|выберу|kies`
	nounWords = `answer|ans|choice|pick|selection|response|solution|decision|recommendation|best|correct|right|conclusion|` +
		`antwort|lösung|wahl|richtig|richtige|réponse|choix|meilleure|respuesta|elección|correcta|mejor|risposta|scelta|corretta|` +
		`resposta|escolha|ответ|правильный|antwoord|keuze`
	// joinedWords choose an option in languages without spaces.
	joinedWords = `选择|选|選擇|選|(?:答案|答え|正解|정답|답|答|选项)\s*(?:是|为|は|은|는|:|应该是)`
	linkWords   = `is|are|was|would be|will be|must be|should be|has to be|to be|ist|wäre|lautet|est|serait|es|sería|è|sarebbe|é|seria|это|` +
		`:|=|->|→|–|—|-`
	fillerWords = `the|an|my|our|option|choice|answer|letter|number|clearly|definitely|obviously|probably|likely|most|best|correct|right|` +
		`therefore|thus|so|indeed|simply|just|one|to|be|die|der|das|antwort|buchstabe|la|le|lettre|réponse|opción|letra|lettera|` +
		`opzione|opção|вариант|буква|选项|:`
	soWords = `so|thus|therefore|hence|i'd say|i would say|i say|it's|it is|that's|that is|must be|definitely|clearly|obviously|certainly|also|daher|donc|por lo tanto|quindi|因此|所以`
	// rightWords follow an option called right.
	rightWords = `(?:is|are|was|would be|seems?|looks?|remains|has to be|must be|ist|est|es|è|é|это|是)(?:\s+(?:clearly|definitely|both|likely|` +
		`probably|obviously|indeed|therefore|also|all|the|my|our|single|most|final|die|la|le|der|l'|une|un|el|a|o))*\s*` +
		`(?:correct|right|best|better|answer|choice|pick|suitable|appropriate|accurate|what i (?:would )?choose|` +
		`richtig|richtige|beste|antwort|bonne|meilleure|réponse|correcte|correcta|mejor|respuesta|corretta|migliore|risposta|certa|melhor|resposta|` +
		`правильный|верный|正确)|(?:is|would be|seems|remains)\s+(?:the|my)\s+(?:\w+\s+){0,3}(?:answer|choice|option|pick|fit)\b|(?:fits|suits|matches|works|makes)(?:\s+\w+)?\s+(?:best|the most|most)|(?:it is|wins)\b|正确|が正解|입니다`
	// wrongWords follow an option called wrong.
	wrongWords = `(?:is|are|was|seems?|looks?|would be|ist|est|es|è|é)(?:\s+(?:clearly|definitely|both|also|all|simply|just|the|therefore|obviously|less))*\s*` +
		`(?:not|n't|wrong|incorrect|false|least|worst|worse|poor|poorer|weaker|bad|out|excluded|unsuitable|irrelevant|falsch|nicht|fausse?|incorrecte?|incorrecta|falsa|sbagliata|errada)|` +
		`(?:isn't|aren't|doesn't|does not|do not|don't|can't|cannot|wouldn't|n'est pas|no es|non è|não é)|` +
		`(?:can|could|should|must) be (?:ruled out|excluded|eliminated|discarded)|неверн|不对|错`
)

// lazy returns a pattern that is compiled on first use.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	// option matches a letter that may name an option, with or without brackets.
	option = lazy(`\(\s*([A-Za-z])\s*\)|\[\s*([A-Za-z])\s*\]|\{\s*([A-Za-z])\s*\}|([A-Za-z])`)

	boxed        = lazy(`\\boxed\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*\(?([A-Za-z])\)?\s*[.)]?[^{}]*\}?\s*\}`)
	latex        = lazy(`\\(?:text|textbf|mathrm|mathbf|quad|,)\b|\\[()\[\]]|\$`)
	markedAnswer = lazy(`(?i)<(?:final_?answer|answer|choice)>\s*`)
	closingMark  = lazy(`(?i)</(?:final_?answer|answer|choice)>`)
	labelLine    = lazy(`(?im)^[ \t]*((?:(?:the|my|final|correct|best) ){0,2}(?:` + nounWords + `|答案|正解|정답)(?: (?:is|ist|est|es))?)[ \t]*:?[ \t]*\n+`)

	chooseEnd = lazy(`(?:(?:^|[^\pL])(?:` + verbWords + `)(?:[\s:,]+(?:` + fillerWords + `))*|` +
		`(?:^|[^\pL])(?:` + nounWords + `)(?:\s+[^\s,]+){0,6}?,?\s*(?:` + linkWords + `)(?:[\s:]*(?:` + fillerWords + `))*|` +
		`(?:^|[^\pL])(?:` + soWords + `)(?:[\s:,]+(?:` + fillerWords + `))*|option\s*:|option (?:that|which)(?:\s+[^\s,]+){0,6}?\s+is|(?:` + joinedWords + `)[\s:]*)[\s:({]*$`)
	finalEnd = lazy(`(?:final|endgültige|finale|definitiva|最终)\s*(?:answer|choice|antwort|réponse|respuesta|risposta|resposta|答案)[^.]{0,30}$|` +
		`(?:réponse|respuesta|resposta|risposta)\s+(?:finale|final|definitiva)[^.]{0,30}$`)
	optionEnd   = lazy(`(?i)(?:option|options|choice|answer|letter|antwort|réponse|opción|opzione|opção|respuesta|вариант|选项)\s*[:#]?\s*$`)
	rightStart  = lazy(`^[\s):,\]}]*(?:` + rightWords + `)`)
	wrongStart  = lazy(`^[\s):,\]}]*(?:` + wrongWords + `)`)
	dashed      = lazy(`^ [-–—]`)
	becauseThen = lazy(`^[\s,]*(?:because|since|as|for|weil|da|denn|parce que|car|porque|pues|perché|pois|так как|потому)(?:[^\pL]|$)`)
	linkThen    = lazy(`^\s*(?:because|since|as|but|or|and|nor|is|seems|fits|over|instead|not|rather|than|weil|aber|oder|und|mais|ou|et|` +
		`porque|pero|sino|o|y|perché|ma|e|mas|и|или|а)(?:[^\pL]|$)`)
	joinBetween = lazy(`^[\s,/&+]*(?:(?:and|or|und|oder|et|ou|y|o|e|и|или|和|或|、|and/or)\s*)?(?:(?:the|option|answer|letter|choice|maybe)\s*)*$`)
	contrastAt  = lazy(`^[\s,:]*(?:but|rather|sondern|mais|sino|ma|bensì|mas|а|而是)(?:[^\pL]|$)`)
	noDoubt     = lazy(`(?:no|without(?: a| any)?) (?:doubt|question)`)
)

// rejecting are words that reject the options after them in the same part of a sentence.
var rejecting = []string{
	"not", "never", "neither", "nor", "over", "than", "unlike", "without", "except", "reject", "rejected", "exclude",
	"excluded", "excluding", "eliminate", "eliminated", "eliminating", "discard", "against", "wrong", "incorrect", "cannot", "avoid",
	"nicht", "kein", "keine", "weder", "noch", "statt", "anstatt", "pas", "ni", "no", "tampoco", "non", "né", "não", "nem", "не", "ни", "вместо",
}

// rejectingPhrases have several words or are in languages without spaces.
var rejectingPhrases = []string{
	"rather than", "instead of", "other than", "rule out", "ruled out", "ruling out", "plutôt que", "au lieu de", "en lugar de", "en vez de",
	"invece di", "em vez de", "不是", "不选", "而不是", "ではなく", "아니",
}

// comparing are the rejecting words whose effect ends at a comma.
var comparing = []string{"over", "than", "unlike", "instead", "rather", "statt", "anstatt", "plutôt", "lieu", "lugar", "vez", "invece", "вместо"}

// hedging are words that only consider the option after them.
var hedging = []string{
	"initially", "originally", "might", "could", "may", "maybe", "perhaps", "possibly", "if", "whether", "tempting", "tempted", "considered",
	"thought", "wenn", "falls", "ob", "vielleicht", "könnte", "si", "podría", "quizá", "se", "forse", "talvez", "если", "может",
}

// piece returns the part of a text from its last comma, colon or dash.
func piece(left string) string {
	left = noDoubt().ReplaceAllString(left, "")
	if i := strings.LastIndexAny(left, ",:–—"); i >= 0 {
		return left[i:]
	}
	return left
}

func hasWord(text string, list []string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		if slices.Contains(list, w) || strings.HasSuffix(w, "n't") && slices.Contains(list, "not") {
			return true
		}
	}
	return false
}

// rejects reports whether the text before a mention rejects it.
func rejects(left string) bool {
	last := piece(left)
	return hasWord(last, rejecting) || slices.ContainsFunc(rejectingPhrases, func(p string) bool { return strings.Contains(last, p) })
}

// compares reports whether a rejecting text rejects by comparison.
func compares(left string) bool { return hasWord(piece(left), comparing) }

// hedges reports whether the text before a mention only considers it.
func hedges(left string) bool {
	return hasWord(piece(left), hedging) || strings.Contains(left, "at first")
}

func chooses(left string) bool        { return chooseEnd().MatchString(left) }
func isFinal(left string) bool        { return finalEnd().MatchString(left) }
func speaksOfOption(left string) bool { return optionEnd().MatchString(left) }
func joins(left string) bool          { return left != "" && joinBetween().MatchString(left) }
func contrasts(left string) bool      { return contrastAt().MatchString(left) }
func calledRight(right string) bool   { return rightStart().MatchString(right) && !hedges(right) }
func calledWrong(right string) bool   { return wrongStart().MatchString(right) }
func gives(right string) bool         { return becauseThen().MatchString(right) }
func continues(right string) bool     { return linkThen().MatchString(right) }
