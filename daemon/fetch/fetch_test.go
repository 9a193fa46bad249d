package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"evalctl/internal/awaittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server on loopback and returns its URL.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func html(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<p>walrus")
}

func TestGet(t *testing.T) {
	var header http.Header
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		html(w, r)
	})
	page, err := New(Options{AllowPrivate: true}).Get(t.Context(), base+"/a?q=1#part")
	if err != nil || string(page.Body) != "<p>walrus" || page.ContentType != "text/html; charset=utf-8" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if page.URL.Path != "/a" || page.URL.RawQuery != "q=1" {
		t.Errorf("URL %s", page.URL)
	}
	for name := range header {
		switch name {
		case "User-Agent", "Accept", "Accept-Encoding", "Connection":
		default:
			t.Errorf("sent the header %s: %q", name, header[name])
		}
	}
	if got := header.Get("User-Agent"); got != userAgent {
		t.Errorf("User-Agent %q", got)
	}
}

// TestNoProxy: a proxy of the environment is not used.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	f := New(Options{AllowPrivate: true})
	if f.transport.Proxy != nil {
		t.Error("the transport has a proxy")
	}
}

func TestAddresses(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "0.1.2.3", "::",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1",
		"100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"192.88.99.1", "ff02::1", "ff0e::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1::808:808",
		"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:101::1",
		"2001::1", "2001:10::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1",
	} {
		addr := netip.MustParseAddr(text)
		if refused(addr) == "" {
			t.Errorf("%s is permitted", text)
		}
		if addr.Is4() && refused(netip.AddrFrom16(addr.As16())) == "" {
			t.Errorf("%s is permitted when it is mapped to IPv6", text)
		}
	}
	for _, text := range []string{
		"8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "11.0.0.1",
		"169.253.0.1", "192.0.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "::ffff:8.8.8.8",
		"2606:4700::1111", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::1", "2001:200::1",
	} {
		if why := refused(netip.MustParseAddr(text)); why != "" {
			t.Errorf("%s is refused: %s", text, why)
		}
	}
	if refused(netip.Addr{}) == "" {
		t.Error("no address is permitted")
	}
}

func TestRefusedURLs(t *testing.T) {
	f := New(Options{})
	for raw, want := range map[string]error{
		"":                             ErrURL,
		"example.com":                  ErrURL,
		"http:example.com":             ErrURL,
		"file:///etc/passwd":           ErrURL,
		"ftp://example.com/":           ErrURL,
		"gopher://example.com:70/":     ErrURL,
		"javascript:alert(1)":          ErrURL,
		"http://":                      ErrURL,
		"http://:80/":                  ErrURL,
		"http://user@example.com/":     ErrURL,
		"http://user:pw@example.com/":  ErrURL,
		"http://example.com:22/":       ErrURL,
		"http://example.com:0/":        ErrURL,
		"http://example.com:1023/":     ErrURL,
		"http://example.com:65536/":    ErrURL,
		"http://example.com:99999999/": ErrURL,
		"http://a b/":                  ErrURL,
		"http://example.com/\r\nX: y":  ErrURL,
		"http://[::1":                  ErrURL,
		"http://127.0.0.1/":            ErrAddress,
		"http://127.0.0.1:6379/":       ErrAddress,
		"https://169.254.169.254/":     ErrAddress,
		"http://[::1]/":                ErrAddress,
		"http://[::ffff:10.0.0.1]/":    ErrAddress,
		"http://[64:ff9b::7f00:1]/":    ErrAddress,
		"http://[fe80::1%25eth0]/":     ErrAddress,
		"http://0/":                    nil, // not an address of netip: whatever it is, dial decides
		"http://2130706433/":           nil,
		"http://0x7f.1/":               nil,
		"http://localhost/":            ErrAddress,
	} {
		_, err := f.Get(t.Context(), raw)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the error has the password: %v", raw, err)
		}
	}
}

func TestErrorsHideSecrets(t *testing.T) {
	base := serve(t, http.NotFound)
	_, err := New(Options{AllowPrivate: true}).Get(t.Context(), base+"/page?token=secret#secret")
	if !errors.Is(err, ErrUpstream) || !errors.Is(err, ErrStatus) || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), base+"/page: ") || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}

// TestPartOfAPage: a part that nobody asked for is not the page.
func TestPartOfAPage(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-3/8")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("half"))
	})
	if _, err := New(Options{AllowPrivate: true}).Get(t.Context(), base+"/page"); !errors.Is(err, ErrStatus) {
		t.Errorf("got %v", err)
	}
}

// TestLoopbackIsNotConnectedTo: the check is at the connection, whatever the URL looks like.
func TestLoopbackIsNotConnectedTo(t *testing.T) {
	var hits atomic.Int32
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1); html(w, r) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f000001", "0"} {
		if _, err := New(Options{}).Get(t.Context(), "http://"+host+":"+port); err == nil {
			t.Errorf("%s: fetched", host)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// nameServer is a DNS server whose nth answer has the nth address, and the last one from then on.
func nameServer(t testing.TB, addresses ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		answered := 0
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response = true
			m.Additionals = nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				addr := netip.MustParseAddr(addresses[min(answered, len(addresses)-1)])
				answered++
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: addr.As4()},
				}}
			}
			reply, err := m.Pack()
			if err == nil {
				_, err = conn.WriteTo(reply, from)
			}
			if err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestNameOfAPrivateAddress: a name that stands for a private address is refused, and the error
// does not contain the address.
func TestNameOfAPrivateAddress(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254"} {
		f := New(Options{})
		f.resolver = nameServer(t, address)
		_, err := f.Get(t.Context(), "http://internal.example.com/")
		if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), address) {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

// TestRebinding: a name is public when it is looked up first and loopback afterwards, and the other
// way round. Whatever is connected to was checked.
func TestRebinding(t *testing.T) {
	var hits atomic.Int32
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1); html(w, r) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	f := New(Options{})
	f.resolver = nameServer(t, "8.8.8.8", "127.0.0.1")
	// What a check before the request would see.
	addrs, err := f.resolver.LookupNetIP(t.Context(), "ip4", "rebind.example.com")
	if err != nil || len(addrs) != 1 || refused(addrs[0]) != "" {
		t.Fatalf("got %v, %v", addrs, err)
	}
	if _, err := f.Get(t.Context(), "http://rebind.example.com:"+port+"/"); !errors.Is(err, ErrAddress) {
		t.Errorf("got %v", err)
	}
	if hits.Load() != 0 {
		t.Error("the request arrived")
	}
}

func TestRedirects(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := len(r.URL.Path) - 1 // one redirect for each letter
		if n == 0 {
			html(w, r)
			return
		}
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("sent %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Location", "/"+strings.Repeat("x", n-1))
		w.WriteHeader([]int{301, 302, 303, 307, 308}[n%5])
	})
	f := New(Options{AllowPrivate: true})
	page, err := f.Get(t.Context(), base+"/xxxxx")
	if err != nil || page.URL.String() != base+"/" {
		t.Errorf("5 redirects: %v, %v", page.URL, err)
	}
	if _, err := f.Get(t.Context(), base+"/xxxxxx"); !errors.Is(err, ErrUpstream) || !strings.Contains(err.Error(), "5 redirects") {
		t.Errorf("6 redirects: %v", err)
	}
}

// TestRedirectsAreChecked: what a redirect leads to keeps the rules of the first URL.
func TestRedirectsAreChecked(t *testing.T) {
	for location, want := range map[string]error{
		"http://169.254.169.254/latest/meta-data/": ErrAddress,
		"http://[::1]:8080/":                       ErrAddress,
		"//127.0.0.1/":                             ErrAddress,
		"file:///etc/passwd":                       ErrURL,
		"http://user:pw@example.com/":              ErrURL,
		"http://example.com:25/":                   ErrURL,
		"http://[::1":                              ErrURL,
	} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(302)
		})
		// The first request goes to the server of the test, although it is on loopback.
		f := New(Options{})
		f.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "public.example.com") {
				var d net.Dialer
				return d.DialContext(ctx, network, strings.TrimPrefix(base, "http://"))
			}
			return f.dial(ctx, network, address)
		}
		_, err := f.Get(t.Context(), "http://public.example.com/")
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", location, err, want)
		}
		// The URL that was given is permitted, so the message must not seem to be about that.
		if !strings.Contains(err.Error(), "http://public.example.com/ redirects") && location != "http://[::1" {
			t.Errorf("%s: the message does not name the redirect: %v", location, err)
		}
	}
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	exact := bytes.Repeat([]byte("x"), MaxBytes)
	over := append(exact[:MaxBytes:MaxBytes], 'x')
	for name, test := range map[string]struct {
		encoding string
		body     []byte
		length   bool // send Content-Length
		size     int
		err      error
	}{
		"empty":               {size: 0},
		"at the limit":        {body: exact, size: MaxBytes},
		"one above":           {body: over, err: ErrTooLarge},
		"far above, declared": {body: bytes.Repeat(exact, 2), length: true, err: ErrTooLarge},
		"gzip":                {encoding: "gzip", body: zipped(t, []byte("walrus")), size: 6},
		"gzip at the limit":   {encoding: "gzip", body: zipped(t, exact), size: MaxBytes},
		"gzip one above":      {encoding: "gzip", body: zipped(t, over), err: ErrTooLarge},
		"bomb":                {encoding: "gzip", body: zipped(t, make([]byte, 50<<20)), err: ErrTooLarge},
		"not gzip":            {encoding: "gzip", body: []byte("walrus"), err: ErrUpstream},
		"cut gzip":            {encoding: "gzip", body: zipped(t, []byte("walrus"))[:20], err: ErrUpstream},
		"empty gzip":          {encoding: "gzip", err: ErrUpstream},
		"other encoding":      {encoding: "br", body: []byte("walrus"), err: ErrUnsupported},
		"two encodings":       {encoding: "gzip, gzip", body: []byte("walrus"), err: ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				if test.encoding != "" {
					w.Header().Set("Content-Encoding", test.encoding)
				}
				if test.length {
					w.Header().Set("Content-Length", fmt.Sprint(len(test.body)))
				}
				_, _ = w.Write(test.body)
			})
			page, err := New(Options{AllowPrivate: true}).Get(t.Context(), base)
			if !errors.Is(err, test.err) || len(page.Body) != test.size {
				t.Errorf("got %d bytes, %v", len(page.Body), err)
			}
		})
	}
}

func TestContentTypes(t *testing.T) {
	for contentType, accepted := range map[string]bool{
		"text/html": true, "TEXT/HTML; charset=ISO-8859-1": true, "application/pdf": true, "text/markdown": true,
		"application/json": true, "text/plain;charset": true,
		"": false, "image/png": false, "application/octet-stream": false, "text/htmlx": false, "text/html, image/png": false,
	} {
		read := make(chan struct{})
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = []string{contentType}
			w.WriteHeader(200)
			if !accepted { // the body must not be waited for
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
			close(read)
		})
		_, err := New(Options{AllowPrivate: true}).Get(t.Context(), base)
		if accepted && err != nil || !accepted && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%q: got %v", contentType, err)
		}
		awaittest.Receive(t, "read", read)
	}
}

func TestServerThatNeverEnds(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"body": func(w http.ResponseWriter, r *http.Request) {
			html(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		base := serve(t, handler)
		f := New(Options{AllowPrivate: true, Timeout: 50 * time.Millisecond})
		if _, err := f.Get(t.Context(), base); !errors.Is(err, ErrUpstream) || !strings.Contains(err.Error(), "50ms") {
			t.Errorf("%s: got %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		f = New(Options{AllowPrivate: true})
		if _, err := f.Get(ctx, base); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, canceled: got %v", name, err)
		}
		cancel()
	}
}

func TestBadServers(t *testing.T) {
	answer := func(text string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			buf := make([]byte, 1000)
			if _, err := conn.Read(buf); err == nil {
				_, _ = conn.Write([]byte(text))
			}
		}()
		return "http://" + l.Addr().String()
	}
	closed := answer("")
	for name, base := range map[string]string{
		"nothing":      closed,
		"no HTTP":      answer("SSH-2.0-OpenSSH\r\n"),
		"large header": answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeader+1) + "\r\n\r\n"),
		"short body":   answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\nshort"),
		"no name":      "http://" + strings.Repeat("a", 300) + ".example/",
		"server error": answer("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
		"no location":  answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
		"not modified": answer("HTTP/1.1 304 Not Modified\r\n\r\n"),
	} {
		if _, err := New(Options{AllowPrivate: true}).Get(t.Context(), base); !errors.Is(err, ErrUpstream) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzCheck: no URL that passes the check has a refused literal address, a user or another scheme.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1", "https://[::ffff:7f00:1]:443/", "http://a@b", "HTTP://0177.0.0.1:1024/x?y#z"} {
		f.Add(seed)
	}
	fetcher := New(Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil || fetcher.check(u) != nil {
			return
		}
		if u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q is permitted", raw)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && refused(addr) != "" {
			t.Errorf("%q is permitted", raw)
		}
		if strings.Contains(shown(u), "?") || strings.Contains(shown(u), "#") {
			t.Errorf("%q is shown as %q", raw, shown(u))
		}
	})
}
