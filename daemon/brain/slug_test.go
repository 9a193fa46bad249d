package brain

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
)

func TestNewBrain(t *testing.T) {
	long := strings.Repeat("a", 65)
	tests := []struct {
		name string
		in   protocol.CreateBrain
		want protocol.Brain // zero when rejected
		bad  string         // the argument that is rejected
	}{
		{"name alone", protocol.CreateBrain{Name: "Anna's Notes, 2024"},
			protocol.Brain{ID: "anna-s-notes-2024", Slug: "anna-s-notes-2024", Name: "Anna's Notes, 2024", Visibility: "private"}, ""},
		{"name with accents", protocol.CreateBrain{Name: "Müsli à la Crème №5"},
			protocol.Brain{ID: "musli-a-la-creme-no5", Slug: "musli-a-la-creme-no5", Name: "Müsli à la Crème №5", Visibility: "private"}, ""},
		{"id alone", protocol.CreateBrain{ID: "eval"},
			protocol.Brain{ID: "eval", Slug: "eval", Name: "eval", Visibility: "private"}, ""},
		{"slug alone", protocol.CreateBrain{Slug: "s-1"},
			protocol.Brain{ID: "s-1", Slug: "s-1", Name: "s-1", Visibility: "private"}, ""},
		{"all given", protocol.CreateBrain{ID: "b", Slug: "s", Name: "N", Visibility: "public"},
			protocol.Brain{ID: "b", Slug: "s", Name: "N", Visibility: "public"}, ""},
		{"name of no usable letter", protocol.CreateBrain{Name: "日本"},
			protocol.Brain{ID: "brain-cf2abf0c5be3", Slug: "brain-cf2abf0c5be3", Name: "日本", Visibility: "private"}, ""},
		{"least and most", protocol.CreateBrain{ID: long[1:], Slug: "0-", Name: "Line\n" + strings.Repeat("é", 123), Visibility: "tenant"},
			protocol.Brain{ID: long[1:], Slug: "0-", Name: "Line\n" + strings.Repeat("é", 123), Visibility: "tenant"}, ""},
		{"nothing", protocol.CreateBrain{}, protocol.Brain{}, "name"},
		{"visibility alone", protocol.CreateBrain{Visibility: "public"}, protocol.Brain{}, "name"},
		{"upper case slug", protocol.CreateBrain{Slug: "S"}, protocol.Brain{}, "slug"},
		{"slug with an underscore", protocol.CreateBrain{Slug: "s_s"}, protocol.Brain{}, "slug"},
		{"slug with a line break", protocol.CreateBrain{Slug: "s\n"}, protocol.Brain{}, "slug"},
		{"slug whose upper case is S", protocol.CreateBrain{Slug: "ſ"}, protocol.Brain{}, "slug"},
		{"hyphen first in a slug", protocol.CreateBrain{Slug: "-s"}, protocol.Brain{}, "slug"},
		{"upper case id", protocol.CreateBrain{ID: "Eval"}, protocol.Brain{}, "id"},
		{"id with a slash", protocol.CreateBrain{ID: "a/b"}, protocol.Brain{}, "id"},
		{"dots", protocol.CreateBrain{ID: ".."}, protocol.Brain{}, "id"},
		{"hyphen first", protocol.CreateBrain{ID: "-a"}, protocol.Brain{}, "id"},
		{"NUL", protocol.CreateBrain{ID: "a\x00"}, protocol.Brain{}, "id"},
		{"long id", protocol.CreateBrain{ID: long}, protocol.Brain{}, "id"},
		{"long slug", protocol.CreateBrain{Name: "n", Slug: long}, protocol.Brain{}, "slug"},
		{"long name", protocol.CreateBrain{Name: strings.Repeat("é", 129)}, protocol.Brain{}, "name"},
		{"visibility", protocol.CreateBrain{Name: "n", Visibility: "secret"}, protocol.Brain{}, "visibility"},
		{"upper case visibility", protocol.CreateBrain{Name: "n", Visibility: "Public"}, protocol.Brain{}, "visibility"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newBrain(tt.in)
			if tt.bad != "" {
				if e, ok := errors.AsType[*ArgumentError](err); !ok || e.Name != tt.bad {
					t.Fatalf("got error %v, want one about %s", err, tt.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSlugOfAnyNameIsAnID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 200, -1).Draw(t, "name")
		slug := Slug("brain", name)
		if err := checkID("slug", slug); err != nil {
			t.Fatalf("Slug(%q): %v", name, err)
		}
		if again := Slug("brain", slug); again != slug {
			t.Fatalf("Slug(%q) = %q, not itself", slug, again)
		}
	})
}
