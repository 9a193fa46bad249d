package form

import "fmt"

// Text is the program's words with data. The zero value is empty.
type Text struct {
	format string
	args   []any
}

// Foreign texts, which each form shortens and escapes.
type (
	// Name is short, such as an id.
	Name string
	// Data may be long.
	Data string
	// Path is not shortened on a terminal.
	Path string
	// Message has several lines.
	Message string
)

// F formats a text like fmt.Sprintf. Use %s for foreign texts and Texts.
func F(format string, args ...any) Text { return Text{format, args} }

func textOf(v any) Text {
	if t, ok := v.(Text); ok {
		return t
	}
	return Text{"%v", []any{v}}
}

// Empty reports whether the text is empty.
func (t Text) Empty() bool { return t.format == "" }

// Join joins texts, which may be strings and data, with a separator.
func Join[T any](separator string, texts ...T) Text {
	var out Text
	for i, text := range texts {
		if i > 0 {
			out.format += separator
		}
		out.format += "%v"
		out.args = append(out.args, text)
	}
	return out
}

// Digest abbreviates a digest.
func Digest(sum string) Name {
	if len(sum) > 8 {
		return Name(sum[:8] + "…")
	}
	return Name(sum)
}

// Names converts a list to Names.
func Names(list []string) []Name {
	out := make([]Name, len(list))
	for i, n := range list {
		out[i] = Name(n)
	}
	return out
}

// Toned returns a word with a tone.
func Toned(tone Tone, word string) Text { return F("%s", tonedWord{tone, word}) }

type tonedWord struct {
	tone Tone
	word string
}

// Escape says how a form shows the parts of a text.
type Escape struct {
	Own, Name, Data, Path, Message func(string) string
	Tone                           func(Tone, string) string
}

// With returns the text as a form shows it.
func (t Text) With(e Escape) string {
	args := make([]any, len(t.args))
	for i, a := range t.args {
		switch a := a.(type) {
		case Name:
			args[i] = e.Name(string(a))
		case Data:
			args[i] = e.Data(string(a))
		case Path:
			args[i] = e.Path(string(a))
		case Message:
			args[i] = e.Message(string(a))
		case Text:
			args[i] = a.With(e)
		case tonedWord:
			args[i] = e.Tone(a.tone, e.Own(a.word))
		case string:
			args[i] = e.Own(a)
		case fmt.Stringer:
			args[i] = e.Own(a.String())
		default:
			args[i] = a
		}
	}
	return fmt.Sprintf(e.Own(t.format), args...)
}
