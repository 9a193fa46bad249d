package postgres_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// authority is a certificate authority that signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // the authority's own certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, file: filepath.Join(t.TempDir(), "ca.crt"), cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, []byte(encode("CERTIFICATE", der)), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// server returns the certificate and the key of a server.
func (a *authority) server(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER)
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

const (
	role     = "reader"
	password = "korrekt-Pferd"
)

// secured returns the URL of a database that lets the user role in with password only, over TLS
// only, without sslmode.
func secured(t *testing.T, a *authority) *url.URL {
	t.Helper()
	cert, key := a.server(t)
	c := postgrestest.NewWith(t, postgrestest.Options{
		Fast:     true,
		Settings: []string{"ssl=on", "password_encryption=scram-sha-256"},
		Files: map[string]string{
			"server.crt": cert, "server.key": key,
			"pg_hba.conf": "host all svc 127.0.0.1/32 trust\nhostssl all " + role + " 127.0.0.1/32 scram-sha-256\n",
		},
	})
	u, err := url.Parse(c.Restored(fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", role, password)))
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.RawQuery = url.UserPassword(role, password), ""
	return u
}

func with(u *url.URL, parameters ...string) string {
	changed, values := *u, url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	changed.RawQuery = values.Encode()
	return changed.String()
}

// TestTLS checks that connections are as secure as the connection string asks for.
func TestTLS(t *testing.T) {
	t.Parallel()
	right, wrong := newAuthority(t), newAuthority(t)
	u := secured(t, right)
	named := *u
	named.Host = "localhost:" + u.Port() // the certificate is for the address
	for _, tt := range []struct {
		name, conn, want string // want is in the error; "" means success
	}{
		{"require", with(u, "sslmode", "require"), ""},
		{"require, right authority", with(u, "sslmode", "require", "sslrootcert", right.file), ""},
		{"require, wrong authority", with(u, "sslmode", "require", "sslrootcert", wrong.file), "certificate"},
		{"right authority", with(u, "sslmode", "verify-full", "sslrootcert", right.file), ""},
		{"wrong authority", with(u, "sslmode", "verify-full", "sslrootcert", wrong.file), "certificate"},
		{"unknown authority", with(u, "sslmode", "verify-full"), "certificate"},
		{"right authority, other name", with(&named, "sslmode", "verify-full", "sslrootcert", right.file), "localhost"},
		{"right authority, name not verified", with(&named, "sslmode", "verify-ca", "sslrootcert", right.file), ""},
		{"no TLS", with(u, "sslmode", "disable"), "no encryption"},
		{"no such file", with(u, "sslmode", "verify-full", "sslrootcert", "/nowhere/ca.crt"), "/nowhere/ca.crt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, err := postgres.Open(t.Context(), tt.conn, postgres.Options{MaxConns: 1})
			if err == nil {
				defer pool.Close()
				var encrypted bool
				err = pool.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted)
				if err == nil && !encrypted {
					t.Error("the connection is not encrypted")
				}
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

// passwords are long enough not to be found in an error by chance.
var passwords = rapid.OneOf(
	rapid.StringMatching(`[a-zA-Z0-9]{12,20}`),
	rapid.StringMatching(`[ -~]{12,20}`),
	rapid.StringMatching(`[%@:/?#&= '"\\]{4}[a-z]{8}[%@:/?#&= '"\\]{4}`),
	rapid.StringMatching(`[äöüß€日本]{6,10}`),
)

// leaked returns a form of the password that is in an error.
func leaked(err error, password string) string {
	text := err.Error()
	for _, form := range []string{
		password, url.QueryEscape(password), url.PathEscape(password), fmt.Sprintf("%q", password),
		strings.TrimPrefix(url.UserPassword("", password).String(), ":"),
	} {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

// TestPasswordStaysSecret checks every way in which connecting fails.
func TestPasswordStaysSecret(t *testing.T) {
	t.Parallel()
	right := newAuthority(t)
	u := secured(t, right)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	elsewhere := func(host string) *url.URL {
		other := *u
		other.Host = host
		return &other
	}
	targets := []*url.URL{ // the first is reached, and rejects the password
		u, elsewhere(closed.Addr().String()), elsewhere("no..host:5432"), elsewhere("127.0.0.1:99999"), elsewhere("127.0.0.1:54x"),
	}
	queries := []string{
		"sslmode=require", "sslmode=disable", "sslmode=verify-full&sslrootcert=" + right.file, "sslmode=bad",
		"sslmode=verify-full&sslrootcert=/nowhere", "pool_max_conns=x", "connect_timeout=x", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		secret := passwords.Draw(t, "password")
		target := rapid.SampledFrom(targets).Draw(t, "target")
		form := rapid.IntRange(0, 3).Draw(t, "form")
		conn := connString(target, secret, rapid.SampledFrom(queries).Draw(t, "query"), form)
		if !postgres.HasPassword(conn) {
			t.Error("HasPassword is false")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		pool, err := postgres.Open(ctx, conn, postgres.Options{MaxConns: 1})
		if err == nil {
			pool.Close()
			t.Fatal("no error")
		}
		if form := leaked(err, secret); form != "" {
			t.Errorf("the error has the password as %q: %v", form, err)
		}
		if strings.Contains(postgres.Address(conn), secret) {
			t.Errorf("the address has the password: %s", postgres.Address(conn))
		}
	})
}

// connString returns a connection string in one of the forms that pgx accepts, or nearly accepts.
func connString(u *url.URL, secret, query string, form int) string {
	switch form {
	case 0: // a URL
		return fmt.Sprintf("postgres://%s@%s%s?%s", url.UserPassword(role, secret), u.Host, u.Path, query)
	case 1: // a parameter of the URL
		return fmt.Sprintf("postgres://%s@%s%s?password=%s&%s", role, u.Host, u.Path, url.QueryEscape(secret), query)
	case 2: // a URL that was not escaped
		return fmt.Sprintf("postgres://%s:%s@%s%s?%s", role, secret, u.Host, u.Path, query)
	}
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(secret)
	return fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s %s", u.Hostname(), u.Port(), role, quoted,
		strings.TrimPrefix(u.Path, "/"), strings.ReplaceAll(query, "&", " "))
}

func TestAddress(t *testing.T) {
	for conn, want := range map[string]string{
		"postgres://u:p@db.example.com/memory":                  "postgres://db.example.com:5432/memory",
		"postgres://u:p@db.example.com:6543/memory?sslmode=bad": "postgres",
		"postgres://u@one:1,two:2/memory":                       "postgres://one:1/memory",
		"host=db dbname=memory user=u password=p":               "postgres://db:5432/memory",
		"postgres://u:p@[::1]:6543/memory":                      "postgres://[::1]:6543/memory",
		"postgres://u:p%@host/memory":                           "postgres",
		"postgres://u:p@q/r@host/memory":                        "postgres",
		"postgres://u:12?3@host/memory":                         "postgres",
		"postgres://u:12#3@host/memory":                         "postgres",
		"postgres://u@host/memory?user=a@b":                     "postgres://host:5432/memory",
	} {
		if got := postgres.Address(conn); got != want {
			t.Errorf("%s: got %s, want %s", conn, got, want)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for conn, want := range map[string]bool{
		"postgres://u@h/d":                    false,
		"postgres://u:p@h/d":                  true,
		"postgres://u:@h/d":                   true,
		"postgres://u@h/d?sslmode=require":    false,
		"postgres://u@h/d?password=p":         true,
		"postgres://u@h/d?sslpassword=p":      true,
		"postgres://h/d?passfile=/run/secret": false,
		"host=h user=u password=p":            true,
		"host=h user=u PASSWORD = p":          true,
		"host=h user=u":                       false,
		"postgres://u:p%@h/d":                 true,
		"postgres://u@h/d?password%3Dp=x;y":   false,
	} {
		if got := postgres.HasPassword(conn); got != want {
			t.Errorf("%s: got %v, want %v", conn, got, want)
		}
	}
	// What pgx takes for a password is one.
	rapid.Check(t, func(t *rapid.T) {
		conn := rapid.StringMatching(`postgres(ql)?://[a-z:@%]{0,6}@?h(:1)?/d(\?[a-z=&%]{0,4}(password|p%61ssword|passfile)?[a-z=&]{0,6})?`).Draw(t, "conn")
		cfg, err := pgx.ParseConfig(conn)
		if err == nil && cfg.Password != "" && !postgres.HasPassword(conn) {
			t.Errorf("pgx finds the password %q", cfg.Password)
		}
	})
}
