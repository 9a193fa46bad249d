package llm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func fakeVectors(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := NewFakeEmbedder().Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// Vectors are cached under the embedder's name, so a deliberate change of the vectors must also
// change the name.
func TestFakeEmbedderVectorsBelongToItsName(t *testing.T) {
	h := sha256.New()
	for _, v := range fakeVectors(t, "Anna went to the children's hospital twice, twice!", "", "?!", "日本 çéñ 2023") {
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	got := NewFakeEmbedder().Name() + " " + hex.EncodeToString(h.Sum(nil))[:16]
	if want := "fake/hashed-ngrams-1024-v1 eaaaee2299def6aa"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFakeEmbedderProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([A-Za-z]{1,8}[ ,.]){0,20}`)).Draw(rt, "text")
		vectors := fakeVectors(t, text, "in between", text)
		a, b := vectors[0], vectors[2]
		if len(a) != fakeDimensions {
			rt.Fatalf("%d dimensions, want %d", len(a), fakeDimensions)
		}
		for i := range a {
			if a[i] != b[i] {
				rt.Fatalf("dimension %d: %v, then %v", i, a[i], b[i])
			}
		}
		if n := dot(a, a); math.Abs(n-1) > 1e-5 {
			rt.Fatalf("squared length %v, want 1", n)
		}
	})
}

func TestFakeEmbedderRanks(t *testing.T) {
	tests := []struct{ name, query, near, far string }{
		{"a shared word", "Where is the telescope?", "The telescope is in the shed.", "The bread is in the oven."},
		{"inflection", "hiking in mountains", "She hiked up a mountain.", "She baked a cake."},
		{"irregular forms", "Who bought teeth?", "A dentist should buy a tooth.", "A florist should sell a rose."},
		{"misspelling", "pottery worskhop", "the workshop of a potter", "the orchestra of a town"},
		{"function words count for nothing", "what is on the piano", "piano lessons", "what is on the table and in the box"},
		{"names count less than topics", "What does Caroline paint?", "Someone painted a sunset.", "Caroline thanked everyone."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := fakeVectors(t, test.query, test.near, test.far)
			near, far := dot(v[0], v[1]), dot(v[0], v[2])
			if near < far+0.05 {
				t.Errorf("near %.3f, far %.3f", near, far)
			}
		})
	}
}

func TestFakeEmbedderStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewFakeEmbedder().Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func BenchmarkFakeEmbedder(b *testing.B) {
	texts := slices.Repeat([]string{strings.Repeat("Melanie went camping at the lake with her children last weekend, and they roasted marshmallows. ", 7)}, 256)
	for b.Loop() {
		if _, err := NewFakeEmbedder().Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(texts)), "ns/text")
}
