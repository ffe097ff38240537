package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpserver"
)

// An authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t, cert, key}
}

// signs makes a certificate for 127.0.0.1 that is good between two times from now.
func (a *authority) signs(serial int64, from, to time.Duration) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "loadaware"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pool trusts the authority.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// folder holds the files that TLS is served from.
type folder struct{ cert, key, ca string }

// keep writes a certificate as whatever renews it would: new files in the place of
// the old ones.
func (f folder) keep(t *testing.T, pair tls.Certificate) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	write(t, f.cert, "CERTIFICATE", pair.Certificate[0])
	write(t, f.key, "PRIVATE KEY", key)
}

func write(t *testing.T, name, kind string, der []byte) {
	require.NoError(t, os.WriteFile(name+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	require.NoError(t, os.Rename(name+".new", name))
}

func newFolder(t *testing.T, pair tls.Certificate) folder {
	dir := t.TempDir()
	f := folder{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	f.keep(t, pair)
	return f
}

// get asks for /healthz over TLS, and returns the serial of the certificate that
// was shown.
func get(url string, client *tls.Config) (serial int64, err error) {
	transport := &http.Transport{TLSClientConfig: client, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	response, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Get(url + "/healthz")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestTheAPIIsServedOverTLS(t *testing.T) {
	own := newAuthority(t, "own")
	files := newFolder(t, own.signs(7, -time.Hour, 90*24*time.Hour))
	server := startServer(t, append(database(t), "LOADAWARE_TLS_CERT="+files.cert, "LOADAWARE_TLS_KEY="+files.key))
	require.True(t, strings.HasPrefix(server.url, "https://"), server.url)
	serial, err := get(server.url, &tls.Config{RootCAs: own.pool()})
	require.NoError(t, err)
	assert.EqualValues(t, 7, serial)

	for claim, c := range map[string]struct {
		client *tls.Config
		said   string
	}{
		"another authority's word is not taken": {&tls.Config{RootCAs: newAuthority(t, "other").pool()}, "unknown authority"},
		"TLS 1.1 is not spoken":                 {&tls.Config{RootCAs: own.pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "protocol version"},
		"another host's name is not ours":       {&tls.Config{RootCAs: own.pool(), ServerName: "example.org"}, "example.org"},
	} {
		_, err := get(server.url, c.client)
		require.ErrorContains(t, err, c.said, claim)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(server.url, "https://"), &tls.Config{RootCAs: own.pool(), MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
		require.NoError(t, err)
		assert.Equal(t, version, conn.ConnectionState().Version)
		assert.Equal(t, "http/1.1", conn.ConnectionState().NegotiatedProtocol)
		conn.Close()
	}
	response, err := http.Get("http" + strings.TrimPrefix(server.url, "https") + "/healthz")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusBadRequest, response.StatusCode, "nothing is answered in the clear")
}

func TestClientCertificates(t *testing.T) {
	own, theirs := newAuthority(t, "own"), newAuthority(t, "theirs")
	files := newFolder(t, own.signs(7, -time.Hour, 90*24*time.Hour))
	write(t, files.ca, "CERTIFICATE", theirs.cert.Raw)
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key, "--tls-client-ca", files.ca)
	for claim, c := range map[string]struct {
		shown []tls.Certificate
		said  string // empty: served
	}{
		"a certificate of theirs":    {[]tls.Certificate{theirs.signs(1, -time.Hour, time.Hour)}, ""},
		"none":                       {nil, "certificate required"},
		"a certificate of our own":   {[]tls.Certificate{own.signs(1, -time.Hour, time.Hour)}, "certificate"},
		"one of theirs that expired": {[]tls.Certificate{theirs.signs(1, -2*time.Hour, -time.Hour)}, "certificate"},
	} {
		// The certificate is sent whatever authorities the server asks for.
		client := &tls.Config{RootCAs: own.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if c.shown == nil {
				return &tls.Certificate{}, nil
			}
			return &c.shown[0], nil
		}}
		_, err := get(server.url, client)
		if c.said == "" {
			require.NoError(t, err, claim)
		} else {
			require.ErrorContains(t, err, c.said, claim)
		}
	}
}

func TestCertificateReload(t *testing.T) {
	own := newAuthority(t, "own")
	files := newFolder(t, own.signs(1, -time.Hour, 90*24*time.Hour))
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key)
	shown := func() int64 {
		serial, err := get(server.url, &tls.Config{RootCAs: own.pool()})
		require.NoError(t, err)
		return serial
	}
	assert.EqualValues(t, 1, shown())
	files.keep(t, own.signs(2, -time.Hour, 90*24*time.Hour))
	assert.EqualValues(t, 2, shown(), "the next handshake shows the new one")

	files.keep(t, own.signs(3, -2*time.Hour, -time.Hour))
	assert.EqualValues(t, 2, shown(), "one that expired is not taken")
	require.NoError(t, os.WriteFile(files.cert, []byte("half a fi"), 0o600))
	assert.EqualValues(t, 2, shown(), "nor one that is being written")
	require.NoError(t, os.Remove(files.key))
	assert.EqualValues(t, 2, shown(), "nor none")
	said := server.said.String()
	assert.Contains(t, said, "the previous ones stay in use")
	assert.Contains(t, said, "expired on")

	files.keep(t, own.signs(4, -time.Hour, 90*24*time.Hour))
	assert.EqualValues(t, 4, shown())
}

func TestCertificateErrors(t *testing.T) {
	own := newAuthority(t, "own")
	files := newFolder(t, own.signs(1, -time.Hour, 90*24*time.Hour))
	expired := newFolder(t, own.signs(1, -2*time.Hour, -time.Hour))
	early := newFolder(t, own.signs(1, time.Hour, 2*time.Hour))
	for claim, c := range map[string]struct {
		cert, key, ca string
		said          string
	}{
		"a certificate without its key": {cert: files.cert, said: "both a certificate and its key"},
		"a key alone":                   {key: files.key, said: "both a certificate and its key"},
		"an authority alone":            {ca: files.ca, said: "both a certificate and its key"},
		"a file that is not there":      {cert: "nowhere.crt", key: files.key, said: "nowhere.crt"},
		"another one's key":             {cert: files.cert, key: expired.key, said: "does not match"},
		"one that expired":              {cert: expired.cert, key: expired.key, said: "expired on"},
		"one that is not good yet":      {cert: early.cert, key: early.key, said: "check the clock"},
		"an authority that is none":     {cert: files.cert, key: files.key, ca: files.key, said: "no certificate in PEM"},
		"an authority that is away":     {cert: files.cert, key: files.key, ca: "nowhere.pem", said: "nowhere.pem"},
	} {
		code, _, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "", "--tls-cert", c.cert, "--tls-key", c.key, "--tls-client-ca", c.ca)
		assert.Equal(t, 2, code, claim)
		assert.Contains(t, stderr, c.said, claim)
		assert.NotContains(t, stderr, "PRIVATE", claim)
	}
}

func TestCertificateExpiryWarning(t *testing.T) {
	own := newAuthority(t, "own")
	for claim, c := range map[string]struct {
		left time.Duration
		told bool
	}{"in a week": {7 * 24 * time.Hour, true}, "in a month": {30 * 24 * time.Hour, false}} {
		var said bytes.Buffer
		files := newFolder(t, own.signs(1, -time.Hour, c.left))
		server, err := httpserver.Listen(httpserver.Config{Addr: "127.0.0.1:0", MaxConns: 1, TLSCert: files.cert, TLSKey: files.key}, slog.New(slog.NewTextHandler(&said, nil)))
		require.NoError(t, err)
		server.Close()
		assert.Equal(t, c.told, strings.Contains(said.String(), "expires soon"), claim)
	}
}
