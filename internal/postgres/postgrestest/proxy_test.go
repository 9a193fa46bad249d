package postgrestest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

// echo returns the address of a server that sends every line back, and counts lines in got.
func echo(t *testing.T) (addr string, got chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for sc := bufio.NewScanner(conn); sc.Scan(); {
					got <- sc.Text()
					fmt.Fprintln(conn, sc.Text())
				}
			}()
		}
	}()
	return l.Addr().String(), got
}

type lineClient struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, addr string) lineClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return lineClient{conn, bufio.NewReader(conn)}
}

// say sends a line and returns the reply.
func (c lineClient) say(line string, wait time.Duration) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(wait))
	return c.lines.ReadString('\n')
}

const (
	soon   = 50 * time.Millisecond // for what must not arrive
	enough = 10 * time.Second      // for what must
)

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func TestProxyCut(t *testing.T) {
	server, _ := echo(t)
	p := postgrestest.NewProxy(t, server)
	c := dial(t, p.Addr())
	if got, err := c.say("one", enough); got != "one\n" {
		t.Fatalf("passed on %q, error %v", got, err)
	}
	p.Cut()
	if got, err := c.say("two", enough); err == nil || isTimeout(err) {
		t.Errorf("cut: %q, error %v", got, err)
	}
	if conn, err := net.Dial("tcp", p.Addr()); err == nil { // or it is reset before Dial returns
		defer conn.Close()
		if got, err := (lineClient{conn, bufio.NewReader(conn)}).say("three", enough); err == nil || isTimeout(err) {
			t.Errorf("new while cut: %q, error %v", got, err)
		}
	}
	p.Restore()
	if got, err := dial(t, p.Addr()).say("four", enough); got != "four\n" {
		t.Errorf("restored: %q, error %v", got, err)
	}
}

// TestProxyCutAfter checks that the server gets the request whose answer is lost, and that only so
// many bytes of an answer arrive.
func TestProxyCutAfter(t *testing.T) {
	server, got := echo(t)
	p := postgrestest.NewProxy(t, server)
	for i, want := range []string{"", "4", "4567"} {
		c := dial(t, p.Addr())
		if reply, err := c.say("123", enough); reply != "123\n" {
			t.Fatalf("passed on %q, error %v", reply, err)
		}
		p.CutAfter(postgrestest.FromServer, len(want))
		reply, err := c.say("4567", enough)
		if err == nil || isTimeout(err) {
			t.Errorf("cut after %d bytes: %q, error %v", len(want), reply, err)
		}
		// A reset may overtake what was sent before it.
		if len(reply) > len(want) {
			t.Errorf("cut after %d bytes: got %q", len(want), reply)
		}
		awaittest.Receive(t, "got", got)
		if line := awaittest.Receive(t, "got", got); line != "4567" {
			t.Errorf("run %d: the server got %q", i, line)
		}
	}
}

func TestProxyStall(t *testing.T) {
	server, got := echo(t)
	p := postgrestest.NewProxy(t, server)
	for _, from := range []postgrestest.Direction{postgrestest.FromServer, postgrestest.FromClient, postgrestest.FromBoth} {
		c := dial(t, p.Addr())
		p.Stall(from)
		if reply, err := c.say("held", soon); !isTimeout(err) {
			t.Errorf("stalled from %d: %q, error %v", from, reply, err)
		}
		if arrived, want := len(got) == 1, from == postgrestest.FromServer; arrived != want {
			t.Errorf("stalled from %d: the server got the line: %v, want %v", from, arrived, want)
		}
		p.Restore()
		_ = c.SetReadDeadline(time.Now().Add(enough))
		if reply, err := c.lines.ReadString('\n'); reply != "held\n" {
			t.Errorf("after the stall: %q, error %v", reply, err)
		}
		awaittest.Receive(t, "got", got)
	}
	// What is stalled can still be cut.
	c := dial(t, p.Addr())
	p.Stall(postgrestest.FromBoth)
	_, _ = c.say("lost", soon)
	p.Cut()
	_ = c.SetReadDeadline(time.Now().Add(enough))
	if _, err := io.ReadAll(c); isTimeout(err) {
		t.Error("a stalled connection was not cut")
	}
}

func TestProxyDelay(t *testing.T) {
	server, _ := echo(t)
	p := postgrestest.NewProxy(t, server)
	p.Delay(20 * time.Millisecond)
	begun := time.Now()
	if reply, err := dial(t, p.Addr()).say("late", enough); reply != "late\n" {
		t.Fatalf("%q, error %v", reply, err)
	}
	if took := time.Since(begun); took < 40*time.Millisecond {
		t.Errorf("both ways took %v, want 40 ms or longer", took)
	}
}

// TestProxyCutAt checks what the server gets of the message at which a client is cut off, and that
// other clients are not.
func TestProxyCutAt(t *testing.T) {
	server, got := echo(t)
	p := postgrestest.NewProxy(t, server)
	for _, fault := range []postgrestest.Fault{
		postgrestest.Lost, postgrestest.Forwarded, postgrestest.Answered, postgrestest.Delayed, postgrestest.Outage,
	} {
		c, other := dial(t, p.Addr()), dial(t, p.Addr())
		for _, client := range []lineClient{c, other} {
			if reply, err := client.say("first", enough); reply != "first\n" {
				t.Fatalf("fault %d: passed on %q, error %v", fault, reply, err)
			}
			awaittest.Receive(t, "got", got)
		}
		hit := p.CutAt("marker", fault)
		if reply, err := c.say("the marker", enough); err == nil || isTimeout(err) {
			t.Errorf("fault %d: %q, error %v", fault, reply, err)
		}
		awaittest.Receive(t, "hit", hit)
		if fault == postgrestest.Delayed {
			if len(got) > 0 {
				t.Error("the message was not held back")
			}
			p.Deliver()
		}
		if fault != postgrestest.Lost {
			if line := awaittest.Receive(t, "got", got); line != "the marker" {
				t.Errorf("fault %d: the server got %q", fault, line)
			}
		}
		reply, err := other.say("second", enough)
		if fault == postgrestest.Outage {
			if err == nil || isTimeout(err) {
				t.Errorf("another client during an outage: %q, error %v", reply, err)
			}
		} else if line := awaittest.Receive(t, "got", got); reply != "second\n" || line != "second" {
			t.Errorf("fault %d: another client got %q, error %v, and the server %q", fault, reply, err, line)
		}
	}
	p.Restore()
	if reply, err := dial(t, p.Addr()).say("third", enough); reply != "third\n" {
		t.Errorf("restored: %q, error %v", reply, err)
	}
}
