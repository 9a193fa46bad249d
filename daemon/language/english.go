package language

import (
	"strings"

	"github.com/blevesearch/snowballstem/english"
)

// irregular maps forms of English words to their base form where a stemmer cannot reduce them: past
// tenses and participles, plurals, comparatives. It leaves out forms that are more often another
// word, which would then no longer match its own forms: lives and leaves (live, leave), a bit, a
// rose, a flu shot. It includes "saw": questions ask "did he see" and notes say "I saw" more often
// than either means the tool.
var irregular = baseForms(`
	arise arose arisen, awake awoke awoken, become became, begin began begun, bend bent, bite bitten,
	bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, burn burnt,
	buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt,
	dig dug, do done doing, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
	eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled,
	fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
	freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang hung,
	hear heard, hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lead led,
	lean leant, leap leapt, learn learnt, leave left, lend lent, light lit, lose lost, make made,
	mean meant, meet met, mistake mistook mistaken, pay paid, prove proven, ride rode ridden,
	ring rang rung, rise risen, run ran, say said, see saw seen, seek sought, sell sold, send sent,
	sew sewn, shake shook shaken, shine shone, show shown, shrink shrank shrunk,
	sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spend spent,
	spin spun, spoil spoilt, stand stood, steal stole stolen, stick stuck, sting stung, strike struck,
	strive strove striven, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken,
	teach taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood,
	undertake undertook undertaken, wake woke woken, wear wore worn, weave wove woven, weep wept,
	win won, withdraw withdrew withdrawn, write wrote written, child children, foot feet, goose geese,
	knife knives, half halves, loaf loaves, shelf shelves, thief thieves,
	wife wives, wolf wolves, man men, woman women, mouse mice, person people, tooth teeth, crisis crises,
	analysis analyses, hypothesis hypotheses, criterion criteria, phenomenon phenomena, good better best,
	bad worse worst
`)

// baseForms parses lists of a base form and its irregular forms, separated by commas.
func baseForms(lists string) map[string]string {
	bases := map[string]string{}
	for list := range strings.SplitSeq(lists, ",") {
		words := strings.Fields(list)
		for _, form := range words[1:] {
			bases[form] = words[0]
		}
	}
	return bases
}

// minBare is the minimum length of a stem whose final i is dropped as an ending: "injuri" of injury
// has to match "injur" of injured, but "parti" of party must not match "part".
const minBare = 6

// stemEnglish reduces an English word to its stem. It returns a word with a digit or a non-English
// letter unchanged: codes and names have no English endings.
func stemEnglish(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	s := snowball(english.Stem)(word)
	if len(s) >= minBare {
		s = strings.TrimSuffix(s, "i")
	}
	return s
}

// contraction removes the short form from a folded word: "anna's" becomes anna, "we'll" becomes we.
// It returns "" for a word that ends in n't, which is a function word. In any other word, the
// apostrophe belongs to the spelling ("o'brien") and only the apostrophe is removed.
func contraction(word string) string {
	i := strings.LastIndexByte(word, '\'')
	if i < 0 {
		return word
	}
	switch word[i+1:] {
	case "t":
		if strings.HasSuffix(word[:i], "n") {
			return ""
		}
	case "s", "m", "d", "ll", "re", "ve":
		word = word[:i]
	}
	return strings.ReplaceAll(word, "'", "")
}
