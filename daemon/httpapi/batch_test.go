package httpapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
)

const batchTarget = "/v1/brains/eval/documents/batch-ops"

// TestBatchFailsFast: a bad op is rejected before the rest of the body arrives.
func TestBatchFailsFast(t *testing.T) {
	t.Parallel()
	s := startFake(t)
	for begin, want := range map[string]string{
		`{"ops":[{"type":"delete","path":"a"},{"type":"chmod","path":"a"}`:                   "op 1: type",
		`{"ops":[{"type":"write","path":"a","content_base64":"*"}`:                           "op 0: content_base64",
		`{"reason":"` + strings.Repeat("x", protocol.MaxBatchText+1) + `",`:                  "reason exceeds",
		`{"ops":[` + strings.Repeat(`{"type":"delete","path":"a"},`, protocol.MaxBatchOps+1): "more than 1024 ops",
		`{"ops":[],` + manyKeys(maxKeys) + `,`:                                               "more than 256 keys",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		// More than the op, because the decoder fills its buffer first.
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s",
			batchTarget, maxBatchBody, begin, strings.Repeat(" ", 64<<10))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%.60s: %v", begin, err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%.60s: %s %s, %v", begin, res.Status, text, err)
		}
	}
}

// TestRejectionReachesSendingClient: a client that closes the connection itself sends its whole
// body before it reads a response.
func TestRejectionReachesSendingClient(t *testing.T) {
	s := startFake(t)
	body := `{"ops":[{"type":"chmod","path":"a"}` + strings.Repeat(" ", maxBatchBody-40)
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+batchTarget, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		c, err := net.Dial("tcp", req.URL.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := req.Write(c); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), req)
		if err != nil || res.StatusCode != 400 {
			t.Fatalf("%v, %v", res, err)
		}
		res.Body.Close()
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	return strings.Join(keys, ",")
}

// TestManyKeys: unknown keys are not kept, and too many keys are rejected, wherever an object is
// read.
func TestManyKeys(t *testing.T) {
	fields, err := normalizeKeys("the body", []byte(`{"a":1,"bB":[2],"c":3}`), nil, []string{"b_b"}, false)
	if err != nil || len(fields) != 1 || string(fields["b_b"]) != "[2]" {
		t.Errorf("%q, %v", fields, err)
	}
	s := startFake(t)
	for target, begin := range map[string]string{
		batchTarget:                     `"ops":[]`,
		"/v1/brains/eval/search":        `"query":"x"`,
		"/v1/brains/eval/documents":     `"content":"x"`,
		"/v1/brains":                    `"id":"two"`,
		batchTarget + "?":               `"ops":[{"type":"write","path":"b","content_base64":"",` + manyKeys(maxKeys-3) + `}]`,
		"/v1/brains/eval/search?filter": `"query":"x","filters":{}`,
	} {
		for more, want := range map[int]string{maxKeys - 2: "20", maxKeys: "413"} {
			res := s.do(t, "POST", target, "{"+begin+","+manyKeys(more)+"}", "Content-Type", "application/json")
			res.Body.Close()
			if !strings.HasPrefix(res.Status, want) {
				t.Errorf("%s with %d additional keys: %s", target, more, res.Status)
			}
		}
	}
	s.expect(t, 413, "POST", batchTarget, `{"ops":[{"type":"delete","path":"b",`+manyKeys(maxKeys)+`}]}`, "Content-Type", "application/json")
}

// TestBatchBody: keys may have any order and spelling, and those that an op does not need are
// ignored.
func TestBatchBody(t *testing.T) {
	s := startFake(t)
	for body, want := range map[string]string{
		`{"ops":[{"contentBase64":"YQ==","path":"a","type":"write","x":[{"y":"z"}]}],"reason":"r","reason":"r"}`: "200 ",
		`{"ops":[{"type":"delete","path":"a","to":null,"content_base64":null}],"other":{"ops":1}}`:               "200 ",
		`{"ops":[{"type":"write","path":"a","path":"b","content_base64":""}]}`:                                   "400 op 0: path is given twice",
		`{"ops":[],"ops":[]}`:                  "400 ops is given twice",
		`{"ops":[],"reason":null}`:             "400 reason must be a string",
		`{"ops":[],"reason":"a","reason":"b"}`: "400 reason is given twice",
		`{"ops":[{"type":"delete","path":7}]}`: "400 op 0: path must be a string",
		`{"ops":[5]}`:                          "400 op 0: the op is not a JSON object",
		`{"ops":[]}{}`:                         "400 the body has more than one JSON value",
		`{"ops":[`:                             "400 the body is not valid JSON: it ends too early",
		`{"ops":[{"type":"delete","path":"a` + "\xff" + `"}]}`:              "400 op 0: the body is not valid UTF-8",
		`{"ops":[],"` + "\xff" + `":1}`:                                     "400 the body is not valid UTF-8",
		`{"ops":[{"type":"` + strings.Repeat("x", 1000) + `","path":"a"}]}`: "400 op 0: type \"" + strings.Repeat("x", 64) + `"`,
	} {
		for _, compressed := range []bool{false, true} {
			s.put(t, "a", "for the op that deletes it")
			headers, sent := []string{"Content-Type", "application/json"}, body
			if compressed {
				headers, sent = append(headers, "Content-Encoding", "gzip"), zip(t, []byte(body))
			}
			res := s.do(t, "POST", batchTarget, sent, headers...)
			var problem protocol.Problem
			err := json.NewDecoder(res.Body).Decode(&problem)
			res.Body.Close()
			if got := fmt.Sprint(res.StatusCode, " ", problem.Detail); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("%.80s: got %s, %v, want %s", body, got, err, want)
			}
		}
	}
}

// TestBatchLimitAfterDecompression: a small body that is too large after decompression is rejected.
func TestBatchLimitAfterDecompression(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	s := startFake(t)
	bomb := zip(t, []byte(`{"ops":[]`+strings.Repeat(" ", maxBatchBody)+`}`))
	s.expect(t, 413, "POST", batchTarget, bomb, "Content-Type", "application/json", "Content-Encoding", "gzip")
	half := base64.StdEncoding.EncodeToString(make([]byte, protocol.MaxBatchBytes/2))
	ops := strings.Repeat(`,{"type":"append","path":"a","content_base64":"`+half+`"}`, 2)
	fits := zip(t, []byte(`{"ops":[`+ops[1:]+`]}`))
	s.expect(t, 200, "POST", batchTarget, fits, "Content-Type", "application/json", "Content-Encoding", "gzip")
}

// TestBodyErrorsStay: an error of reading a body is not reported as invalid JSON.
func TestBodyErrorsStay(t *testing.T) {
	for _, begin := range []string{``, `{`, `{"ops"`, `{"ops":[{"type":"a`, `{"ops":[]`, `{"ops":[]}`, `{"x":"`} {
		broken := io.MultiReader(strings.NewReader(begin), failing{tooLarge(1)})
		if _, err := decodeBatch(broken); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", begin, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzDecodeBatch: accepted ops are those of the body.
func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"reason":"r","ops":[{"type":"write","path":"a","content_base64":"YQ=="},{"type":"rename","path":"a","to":"b"}]}`))
	f.Add([]byte(`{"ops":[{"type":"delete","path":"a"}`))
	f.Add([]byte(`{"ops":[null]}`))
	f.Add([]byte(`{"message":"m","ops":[{"contentBase64":"","path":"\u0061","type":"append","x":{}}],"y":[1]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeBatch(bytes.NewReader(body))
		if err != nil {
			return
		}
		object := objectOf(t, body)
		ops, _ := object["ops"].([]any)
		if len(ops) != len(c.Ops) {
			t.Fatalf("%s is decoded to %d ops", body, len(c.Ops))
		}
		for key, got := range map[string]string{"reason": c.Reason, "message": c.Message, "author": c.Author, "email": c.Email} {
			if want, ok := object[key].(string); ok && want != got {
				t.Fatalf("%s is %q, decoded as %q", key, want, got)
			}
		}
		for i, op := range c.Ops {
			sent, _ := ops[i].(map[string]any)
			if sent["path"] != op.Path || sent["type"] != string(op.Kind) || op.Kind == "rename" && sent["to"] != op.To {
				t.Fatalf("op %d of %s is %+v", i, body, op)
			}
			if content, ok := sent["content_base64"].(string); ok && len(op.Data) > 0 {
				if want, err := base64.StdEncoding.DecodeString(content); err != nil || !bytes.Equal(want, op.Data) {
					t.Fatalf("op %d of %s has the content %q", i, body, op.Data)
				}
			}
		}
	})
}
