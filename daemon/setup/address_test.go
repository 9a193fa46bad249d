package setup_test

import (
	"net"
	"strings"
	"testing"

	"evalctl/daemon/setup"
)

func TestURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8787": "http://127.0.0.1:8787",
		":80":            "http://127.0.0.1:80",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::]:80":        "http://[::1]:80",
		"[fe80::1]:80":   "http://[fe80::1]:80",
		"memory:80":      "http://memory:80",
	} {
		if got, err := setup.URL(addr); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", addr, got, err, want)
		}
	}
}

// TestExposed checks bound addresses. For a hostname, the bound address is the resolved one.
func TestExposed(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:1": false, "127.8.9.10:1": false, "[::1]:1": false, "[::ffff:127.0.0.1]:1": false,
		"0.0.0.0:1": true, "[::]:1": true, ":1": true, "192.0.2.7:1": true, "[2001:db8::1]:1": true, "[fe80::1]:1": true, "10.0.0.1:1": true,
		"[::ffff:192.0.2.7]:1": true,
	} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := setup.Exposed(tcp); got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
	if !setup.Exposed(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) {
		t.Error("an address that is not TCP was reported as not exposed")
	}
}

// TestListen binds real sockets.
func TestListen(t *testing.T) {
	for _, tt := range []struct {
		addr    string
		allowed bool
		want    string // empty: it listens
	}{
		{"127.0.0.1:0", false, ""},
		{"localhost:0", false, ""},
		{"[::1]:0", false, ""},
		{"0.0.0.0:0", false, "gives other machines full access"},
		{"[::]:0", false, "gives other machines full access"},
		{":0", false, "gives other machines full access"},
		{":0", true, ""},
		{"nowhere", false, "must be HOST:PORT"},
		{"127.0.0.1:http-no", false, "--addr 127.0.0.1:http-no: "},
		{"nowhere.invalid:0", false, "--addr nowhere.invalid:0: "},
	} {
		l, _, err := setup.Listen(t.Context(), tt.addr, tt.allowed)
		if err == nil {
			l.Close()
		} else if strings.Contains(err.Error(), "cannot assign requested address") {
			t.Logf("%s: this machine has no such address: %v", tt.addr, err)
			continue
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt, err, tt.want)
		}
	}
}
