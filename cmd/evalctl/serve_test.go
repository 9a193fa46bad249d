package main

import (
	"net"
	"strings"
	"testing"
)

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
		if got := exposed(tcp); got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
	if !exposed(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) {
		t.Error("an address that is not TCP was reported as not exposed")
	}
}

// TestListen binds real sockets.
func TestListen(t *testing.T) {
	for _, tt := range []struct {
		cmd  serveCmd
		want string // empty: it listens
	}{
		{serveCmd{Addr: "127.0.0.1:0"}, ""},
		{serveCmd{Addr: "localhost:0"}, ""},
		{serveCmd{Addr: "[::1]:0"}, ""},
		{serveCmd{Addr: "0.0.0.0:0"}, "gives other machines full access"},
		{serveCmd{Addr: "[::]:0"}, "gives other machines full access"},
		{serveCmd{Addr: ":0"}, "gives other machines full access"},
		{serveCmd{Addr: ":0", Insecure: true}, ""},
		{serveCmd{Addr: ":0", Keys: "keys.yaml"}, ""},
		{serveCmd{Addr: "nowhere"}, "must be HOST:PORT"},
		{serveCmd{Addr: "127.0.0.1:http-no"}, "--addr 127.0.0.1:http-no: "},
		{serveCmd{Addr: "nowhere.invalid:0"}, "--addr nowhere.invalid:0: "},
	} {
		l, _, err := tt.cmd.listen(t.Context())
		if err == nil {
			l.Close()
		} else if strings.Contains(err.Error(), "cannot assign requested address") {
			t.Logf("%s: this machine has no such address: %v", tt.cmd.Addr, err)
			continue
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.cmd, err, tt.want)
		}
	}
}
