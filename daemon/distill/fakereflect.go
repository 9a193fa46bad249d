package distill

// fakeReflection is the offline reply to reflectPrompt.
func fakeReflection(in reflectInput) string {
	last := in.Messages[len(in.Messages)-1]
	r := Reflection{Outcome: shorten(oneLine(last.Text), maxOutcome/2)}
	if len(last.Text) > 20 {
		r.RecordEpisode, r.Title, r.Episode = true, shorten(oneLine(last.Text), MaxTitle/2), shorten(last.Text, maxEpisode/2)
	}
	return encode(r)
}
