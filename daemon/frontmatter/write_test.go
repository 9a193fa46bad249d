package frontmatter_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/frontmatter"
)

func Example() {
	text, err := frontmatter.Set("---\nversion: 1.10\n---\n# Kyoto\n", frontmatter.Fields{
		Title: "Trip", Tags: []string{"travel", "japan"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(text)
	doc := frontmatter.Parse(text)
	fmt.Printf("%q %q %q %q\n", doc.Title, doc.Tags, doc.Metadata["version"], doc.Body)
	// Output:
	// ---
	// version: 1.10
	// title: Trip
	// tags: travel,japan
	// ---
	// # Kyoto
	// "Trip" ["travel" "japan"] "1.10" "# Kyoto\n"
}

// texts generates strings that YAML could read as something else.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[-:#&*!|>'"%@ \n\ta-c0-9,\[\]{}~.]{0,20}`),
		rapid.SampledFrom([]string{"0012", "1.10", "true", "null", "~", ".nan", "2024-05-08", "---", "...", "<<", "=", "\ufeff", "a\u0085b", "\u2028"}),
	)
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// fields generates the fields that Set promises to keep.
func fields() *rapid.Generator[frontmatter.Fields] {
	key := rapid.Map(texts(), func(s string) string { return clip(s, 128) }).Filter(func(s string) bool {
		return s != "" && s != "date" && s != "session_id" && !frontmatter.IsField(s)
	})
	value := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(texts(), toAny), rapid.Map(rapid.Bool(), toAny),
		rapid.Map(rapid.IntRange(-1<<53, 1<<53), toAny),
		rapid.Map(rapid.Float64().Filter(func(f float64) bool { // others are read as int
			return f != math.Trunc(f) || math.Abs(f) >= 1e21
		}), toAny),
	)
	tag := rapid.Map(texts(), func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, ",", "")) })
	instant := rapid.Map(rapid.Int64Range(-60_000_000_000_000, 250_000_000_000_000), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() })
	return rapid.Custom(func(t *rapid.T) frontmatter.Fields {
		return frontmatter.Fields{
			Title:    rapid.OneOf(rapid.Just(""), texts().Filter(func(s string) bool { return !isBlank(s) })).Draw(t, "title"),
			Tags:     rapid.SliceOfN(tag.Filter(func(s string) bool { return s != "" }), 0, 4).Draw(t, "tags"),
			Date:     rapid.OneOf(rapid.Just(time.Time{}), instant).Draw(t, "date"),
			Source:   rapid.SampledFrom([]string{"", "ingest", "extract", "compile", "reflect"}).Draw(t, "source"),
			Created:  rapid.OneOf(rapid.Just(time.Time{}), instant).Draw(t, "created"),
			Metadata: rapid.MapOfN(key, value, 0, 4).Draw(t, "metadata"),
		}
	})
}

func toAny[T any](v T) any { return v }

func clip(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n])
	}
	return s
}

// emptyIsNil replaces empty values by nil, as Parse does.
func emptyIsNil(f frontmatter.Fields) frontmatter.Fields {
	if len(f.Tags) == 0 {
		f.Tags = nil
	}
	if len(f.Metadata) == 0 {
		f.Metadata = nil
	}
	return f
}

// Front matter without keys takes fields like one with keys, and is replaced by them.
func TestSetInEmptyFrontMatter(t *testing.T) {
	headers := []string{"", "\n", "# a\n", "#a\r\n\r\n  # b\r\n", "~\n", "# a\nnull # b\n# c\n", "{}\n"}
	rapid.Check(t, func(t *rapid.T) {
		want := emptyIsNil(fields().Draw(t, "fields"))
		body := texts().Draw(t, "body")
		text := "---\n" + rapid.SampledFrom(headers).Draw(t, "header") + "---\n" + body
		set, err := frontmatter.Set(text, want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(document(body, want), frontmatter.Parse(set)); diff != "" {
			t.Fatalf("%q became %q (-set +read):\n%s", text, set, diff)
		}
	})
}

func TestWhatIsSetIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := emptyIsNil(fields().Draw(t, "fields"))
		body := texts().Filter(func(s string) bool { return frontmatter.Parse(s).Body == s }).Draw(t, "body")
		text, err := frontmatter.Set(body, want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(document(body, want), frontmatter.Parse(text)); diff != "" {
			t.Fatalf("%q (-set +read):\n%s", text, diff)
		}
	})
}

// Setting fields in front matter that has others keeps those that are not set.
func TestSetKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, set := fields().Draw(t, "was"), fields().Draw(t, "set")
		text, err := frontmatter.Set("body", was)
		if err == nil {
			text, err = frontmatter.Set(text, set)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := was
		if set.Title != "" {
			want.Title = set.Title
		}
		if len(set.Tags) > 0 {
			want.Tags = set.Tags
		}
		if !set.Date.IsZero() {
			want.Date = set.Date
		}
		if set.Source != "" {
			want.Source = set.Source
		}
		if !set.Created.IsZero() {
			want.Created = set.Created
		}
		for key, value := range set.Metadata {
			want.Metadata[key] = value
		}
		if diff := cmp.Diff(document("body", emptyIsNil(want)), frontmatter.Parse(text)); diff != "" {
			t.Fatalf("%q (-want +read):\n%s", text, diff)
		}
	})
}

func TestSet(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing there":      {"x", "---\ntitle: new\n---\nx"},
		"byte order mark":    {"\ufeffx", "---\ntitle: new\n---\nx"},
		"bytes of the body":  {"x\xff\r\n", "---\ntitle: new\n---\nx\xff\r\n"},
		"bytes above it":     {"---\na: b\xff\n---\nx", "---\na: b\ufffd\ntitle: new\n---\nx"},
		"empty":              {"---\n---\nx", "---\ntitle: new\n---\nx"},
		"null":               {"---\nnull\n---\nx", "---\ntitle: new\n---\nx"},
		"comments":           {"---\n# one\n\n# two\n---\nx", "---\n# one\n\n# two\ntitle: new\n---\nx"},
		"replaced":           {"---\ntitle: a\nk: [1, 2] # two\ntitle: b\n...\nx", "---\nk: [1, 2] # two\ntitle: new\n---\nx"},
		"not front matter":   {"---\n[a: :\n---\nx", "---\ntitle: new\n---\n---\n[a: :\n---\nx"},
		"written as it was":  {"---\na: 0012\nb: 1.10\nc: 2024/5/8\n---\n", "---\na: 0012\nb: 1.10\nc: 2024/5/8\ntitle: new\n---\n"},
		"an alias is no key": {"---\n&title a: b\n*title : c\n---\n", "---\n&title a: b\n*title: c\ntitle: new\n---\n"},
	} {
		got, err := frontmatter.Set(tt.text, frontmatter.Fields{Title: "new"})
		if err != nil || got != tt.want {
			t.Errorf("%s: %v: got %q, want %q", name, err, got, tt.want)
		}
	}
	for _, text := range []string{"", "x", "---\n{}\n---\nx", "---\n---\nx", "---\n# none\n---\n"} {
		if got, err := frontmatter.Set(text, frontmatter.Fields{}); err != nil || got != text {
			t.Errorf("%v: %q became %q", err, text, got)
		}
	}
}

func TestSetFails(t *testing.T) {
	for name, tt := range map[string]struct {
		text   string
		fields frontmatter.Fields
	}{
		"too long":        {"x", frontmatter.Fields{Title: strings.Repeat("x", 65<<10)}},
		"an alias":        {"---\ntitle: &a T\nb: *a\n---\n", frontmatter.Fields{Title: "new"}},
		"invalid UTF-8":   {"x", frontmatter.Fields{Title: "\xff"}},
		"a strange value": {"x", frontmatter.Fields{Metadata: map[string]any{"k": failing{}}}},
	} {
		if text, err := frontmatter.Set(tt.text, tt.fields); err == nil {
			t.Errorf("%s: got %q", name, text)
		}
	}
}

type failing struct{}

func (failing) MarshalYAML() (any, error) { return nil, errors.New("cannot be written") }
