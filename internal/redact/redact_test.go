package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	r := New(Token(`evk/a+b"c<d`), Token(""), Token("other"))
	for _, text := range []string{
		`evk/a+b"c<d`, `{"error":"Bearer evk/a+b\"c\u003cd"}`, `{"error":"evk\/a+b"} other`, url.QueryEscape(`evk/a+b"c<d`), fmt.Sprintf("%q", `evk/a+b"c<d`),
		fmt.Sprintf("%q", `{"error":"evk/a+b\"c\u003cd"}`),
	} {
		got := r.Text(text)
		if strings.Contains(got, "b") && strings.Contains(got, "evk") && strings.Contains(got, "c") || strings.Contains(got, "other") || !strings.Contains(got, "[token]") {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if got := New(Token(""), Token("")).Text("nothing"); got != "nothing" {
		t.Errorf("got %q", got)
	}
}

// TestReader: however the input is split, the output is that of Text and contains no secret.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ab]{2,6}c`).Draw(t, "secret")
		parts := rapid.SliceOf(rapid.OneOf(rapid.Just(secret), rapid.StringMatching(`[abx]{0,9}`))).Draw(t, "parts")
		text := strings.Join(parts, "")
		r := New(Token(secret))
		var src io.Reader = strings.NewReader(text)
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			src = iotest.OneByteReader(src)
		case 1:
			src = iotest.HalfReader(src)
		case 2:
			src = iotest.DataErrReader(src)
		}
		out := r.Reader(src)
		var got bytes.Buffer
		p := make([]byte, rapid.IntRange(1, 200).Draw(t, "size"))
		for {
			n, err := out.Read(p)
			got.Write(p[:n])
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := r.Text(text); got.String() != want {
			t.Fatalf("%q without %q: got %q, want %q", text, secret, got.String(), want)
		}
	})
}

// TestReaderIsPrompt: bytes that cannot be part of a secret are not held back.
func TestReaderIsPrompt(t *testing.T) {
	src, w := io.Pipe()
	r := New(Token("secret")).Reader(src)
	go func() {
		for _, s := range []string{"data: 1\n\n", "data: sec", "ond\n\n"} {
			_, _ = io.WriteString(w, s)
		}
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	p := make([]byte, 100)
	for _, want := range []string{"data: 1\n\n", "data: ", "second\n\n"} {
		n, err := r.Read(p)
		if err != nil || string(p[:n]) != want {
			t.Errorf("got %q, %v, want %q", p[:n], err, want)
		}
	}
	if _, err := r.Read(p); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add("secret", "a secret and secsecret")
	f.Add("aa", "aaaaa")
	f.Add("a\"/", `{"x":"a\"/"}`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		r := New(Token(secret), Token("and sec"))
		data, err := io.ReadAll(iotest.OneByteReader(r.Reader(strings.NewReader(text))))
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(secret, "[token]") || len(secret) > 100 || len(text) > 1000 {
			t.Skip("the mark may complete the secret; what is long is only slow")
		}
		if want := r.Text(text); string(data) != want || secret != "" && strings.Contains(want, secret) {
			t.Errorf("%q without %q: got %q, want %q", text, secret, data, want)
		}
	})
}

// BenchmarkReader compares reading with and without secrets to search for.
func BenchmarkReader(b *testing.B) {
	text := strings.Repeat("data: {\"delta\":\"The kettle is green, evidently. \"}\n\n", 2000)
	var many []Secret
	for i := range 20 {
		many = append(many, Secret{"KEY", fmt.Sprintf("sk-%d-abcdefghijklmnopqrstuvwxyz", i)})
	}
	for name, r := range map[string]*Redactor{
		"plain": New(), "redacted": New(Token("evk_0123456789abcdefghijklmnopqrstuvwxyz")), "20 secrets": New(many...),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			p := make([]byte, 32<<10)
			for b.Loop() {
				for d := r.Reader(strings.NewReader(text)); ; {
					if _, err := d.Read(p); err != nil {
						break
					}
				}
			}
		})
	}
}
