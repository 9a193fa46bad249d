package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

const subscribers = 1000

// audience is many raw TCP clients. A goroutine for each counts the ends of frames.
type audience struct {
	conns []net.Conn
	heard sync.WaitGroup // done when every client has received the awaited frames
	ended sync.WaitGroup
}

func (a *audience) join(b *testing.B, addr, hello string) {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Write([]byte(hello)); err != nil {
		b.Fatal(err)
	}
	a.conns = append(a.conns, conn)
	a.heard.Add(1)
	a.ended.Go(func() {
		buf := make([]byte, 2048)
		half := false // the last read ended with the first of the two line breaks
		for {
			n, err := conn.Read(buf)
			ends := bytes.Count(buf[:n], []byte("\n\n"))
			if half && n > 0 && buf[0] == '\n' {
				ends++
			}
			half = bytes.HasSuffix(buf[:n], []byte("\n")) && !bytes.HasSuffix(buf[:n], []byte("\n\n"))
			a.heard.Add(-ends)
			if err != nil || bytes.HasSuffix(buf[:n], []byte("0\r\n\r\n")) {
				return
			}
		}
	})
}

func (a *audience) close() {
	for _, c := range a.conns {
		c.Close()
	}
	a.ended.Wait()
}

// memoryInUse returns the bytes that objects and stacks take.
func memoryInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkEvents sends the event of one write to 1,000 TCP clients. It also reports the memory per
// client, including the client's own side, and how long Stop takes to end all streams. The limit to
// compare with is a loop on all cores that writes the same bytes to as many connections.
func BenchmarkEvents(b *testing.B) {
	b.Run("daemon", func(b *testing.B) {
		s := startFake(b)
		docs := s.store(b)
		before := memoryInUse()
		var a audience
		defer a.close()
		for range subscribers {
			a.join(b, strings.TrimPrefix(s.url, "http://"), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", eventsPath))
		}
		a.heard.Wait()
		each := float64(memoryInUse()-before) / subscribers / 1024
		for b.Loop() {
			a.heard.Add(subscribers)
			if err := docs.Write(b.Context(), "notes/a.md", nil); err != nil {
				b.Fatal(err)
			}
			a.heard.Wait()
		}
		b.ReportMetric(each, "KiB/client")
		begin := time.Now()
		s.api.Stop()
		a.ended.Wait()
		b.ReportMetric(float64(time.Since(begin))/float64(time.Millisecond), "ms-to-stop")
	})
	b.Run("bare", func(b *testing.B) {
		ln, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer ln.Close()
		before := memoryInUse()
		var a audience
		defer a.close()
		var conns []net.Conn
		for range subscribers {
			a.join(b, ln.Addr().String(), "")
			conn, err := ln.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			conns = append(conns, conn)
			a.heard.Done()
		}
		each := float64(memoryInUse()-before) / subscribers / 1024
		frame := []byte("id: 12\nevent: change\ndata: " + `{"kind":"updated","path":"notes/a.md","when":"2024-05-01T12:00:00.123Z"}` + "\n\n")
		for b.Loop() {
			a.heard.Add(subscribers)
			var writers sync.WaitGroup
			for part := range runtime.GOMAXPROCS(0) {
				writers.Go(func() {
					for i := part; i < len(conns); i += runtime.GOMAXPROCS(0) {
						if _, err := conns[i].Write(frame); err != nil {
							b.Error(err)
						}
					}
				})
			}
			writers.Wait()
			a.heard.Wait()
		}
		b.ReportMetric(each, "KiB/client")
	})
}

// BenchmarkEventsOfABatch sends the events of the largest batch to 1,000 TCP clients.
func BenchmarkEventsOfABatch(b *testing.B) {
	s := startFake(b)
	s.api.ping = time.Hour // pings would be counted
	docs := s.store(b)
	var a audience
	defer a.close()
	for range subscribers {
		a.join(b, strings.TrimPrefix(s.url, "http://"), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", eventsPath))
	}
	a.heard.Wait()
	var c store.Commit
	for i := range protocol.MaxBatchOps {
		c.Ops = append(c.Ops, store.Op{Kind: store.OpWrite, Path: fmt.Sprintf("notes/%d.md", i)})
	}
	for b.Loop() {
		a.heard.Add(subscribers * len(c.Ops))
		if err := docs.Apply(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		a.heard.Wait()
	}
	b.ReportMetric(float64(subscribers*len(c.Ops)*b.N)/b.Elapsed().Seconds(), "frames/s")
	s.api.Stop()
	a.ended.Wait()
}
