package language

import "strings"

// hindiEndings are the endings of Hindi that a word may lose, the longest first (Ramanathan and Rao,
// "A Lightweight Stemmer for Hindi", 2003).
var hindiEndings = strings.Fields(`ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयों ाइयां
	ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियों ियां
	ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं
	कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ां ों ें ो े ू ु ी ि ा`)

// stemHindi removes the longest ending that leaves two characters at least.
func stemHindi(word string) string {
	word = strings.ReplaceAll(word, "ँ", "ं")
	for _, ending := range hindiEndings {
		if rest, ok := strings.CutSuffix(word, ending); ok && len([]rune(rest)) > 1 {
			return rest
		}
	}
	return word
}
