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

// sign returns a certificate for 127.0.0.1. It is valid from the present time plus `from` to the present time plus `to`.
func (a *authority) sign(serial int64, from, to time.Duration) tls.Certificate {
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

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

type tlsFiles struct{ cert, key, ca string }

// replace writes a certificate like a renewal: new files replace the old ones.
func (f tlsFiles) replace(t *testing.T, pair tls.Certificate) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	writePEM(t, f.cert, "CERTIFICATE", pair.Certificate[0])
	writePEM(t, f.key, "PRIVATE KEY", key)
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	require.NoError(t, os.WriteFile(name+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	require.NoError(t, os.Rename(name+".new", name))
}

// newTLSFiles writes a certificate and its key to files of a new folder. The file ca does not exist yet.
func newTLSFiles(t *testing.T, pair tls.Certificate) tlsFiles {
	dir := t.TempDir()
	f := tlsFiles{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	f.replace(t, pair)
	return f
}

// get requests /healthz and returns the serial number of the server's certificate.
func get(url string, client *tls.Config) (serial int64, err error) {
	transport := &http.Transport{TLSClientConfig: client, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	response, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Get(url + "/healthz")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestServerWithTLS(t *testing.T) {
	own := newAuthority(t, "own")
	files := newTLSFiles(t, own.sign(7, -time.Hour, 90*24*time.Hour))
	server := startServer(t, append(database(t), "LOADAWARE_TLS_CERT="+files.cert, "LOADAWARE_TLS_KEY="+files.key))
	require.True(t, strings.HasPrefix(server.url, "https://"), server.url)
	serial, err := get(server.url, &tls.Config{RootCAs: own.pool()})
	require.NoError(t, err)
	assert.EqualValues(t, 7, serial)

	for name, c := range map[string]struct {
		client *tls.Config
		want   string
	}{
		"an unknown authority": {&tls.Config{RootCAs: newAuthority(t, "other").pool()}, "unknown authority"},
		"TLS 1.1":              {&tls.Config{RootCAs: own.pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "protocol version"},
		"another host name":    {&tls.Config{RootCAs: own.pool(), ServerName: "example.org"}, "example.org"},
	} {
		_, err := get(server.url, c.client)
		require.ErrorContains(t, err, c.want, name)
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
	assert.Equal(t, http.StatusBadRequest, response.StatusCode, "plain HTTP is rejected")
}

func TestClientCertificates(t *testing.T) {
	own, theirs := newAuthority(t, "own"), newAuthority(t, "theirs")
	files := newTLSFiles(t, own.sign(7, -time.Hour, 90*24*time.Hour))
	writePEM(t, files.ca, "CERTIFICATE", theirs.cert.Raw)
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key, "--tls-client-ca", files.ca)
	for name, c := range map[string]struct {
		sent []tls.Certificate
		want string // the error; none if empty
	}{
		"a valid certificate":                {[]tls.Certificate{theirs.sign(1, -time.Hour, time.Hour)}, ""},
		"no certificate":                     {nil, "certificate required"},
		"a certificate of another authority": {[]tls.Certificate{own.sign(1, -time.Hour, time.Hour)}, "certificate"},
		"an expired certificate":             {[]tls.Certificate{theirs.sign(1, -2*time.Hour, -time.Hour)}, "certificate"},
	} {
		// The client sends the certificate even if the server does not accept its authority.
		client := &tls.Config{RootCAs: own.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if c.sent == nil {
				return &tls.Certificate{}, nil
			}
			return &c.sent[0], nil
		}}
		_, err := get(server.url, client)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

func TestServerReloadsChangedCertificate(t *testing.T) {
	own := newAuthority(t, "own")
	files := newTLSFiles(t, own.sign(1, -time.Hour, 90*24*time.Hour))
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key)
	serial := func() int64 {
		number, err := get(server.url, &tls.Config{RootCAs: own.pool()})
		require.NoError(t, err)
		return number
	}
	assert.EqualValues(t, 1, serial())
	files.replace(t, own.sign(2, -time.Hour, 90*24*time.Hour))
	assert.EqualValues(t, 2, serial(), "the next handshake uses the new certificate")

	files.replace(t, own.sign(3, -2*time.Hour, -time.Hour))
	assert.EqualValues(t, 2, serial(), "an expired certificate is ignored")
	require.NoError(t, os.WriteFile(files.cert, []byte("-----BEGIN CERT"), 0o600))
	assert.EqualValues(t, 2, serial(), "an incomplete file is ignored")
	require.NoError(t, os.Remove(files.key))
	assert.EqualValues(t, 2, serial(), "a missing key is ignored")
	log := server.output.String()
	assert.Contains(t, log, "the previous ones stay in use")
	assert.Contains(t, log, "expired on")

	files.replace(t, own.sign(4, -time.Hour, 90*24*time.Hour))
	assert.EqualValues(t, 4, serial())
}

func TestCertificateErrors(t *testing.T) {
	own := newAuthority(t, "own")
	files := newTLSFiles(t, own.sign(1, -time.Hour, 90*24*time.Hour))
	expired := newTLSFiles(t, own.sign(1, -2*time.Hour, -time.Hour))
	early := newTLSFiles(t, own.sign(1, time.Hour, 2*time.Hour))
	for name, c := range map[string]struct {
		cert, key, ca string
		want          string
	}{
		"a certificate without its key":       {cert: files.cert, want: "both a certificate and its key"},
		"a key alone":                         {key: files.key, want: "both a certificate and its key"},
		"an authority alone":                  {ca: files.ca, want: "both a certificate and its key"},
		"a missing file":                      {cert: "absent.crt", key: files.key, want: "check --tls-cert"},
		"the key of another certificate":      {cert: files.cert, key: expired.key, want: "does not match"},
		"an expired certificate":              {cert: expired.cert, key: expired.key, want: "expired on"},
		"a certificate that is not valid yet": {cert: early.cert, key: early.key, want: "check the clock"},
		"a key as authority":                  {cert: files.cert, key: files.key, ca: files.key, want: "no certificate in PEM"},
		"a missing authority":                 {cert: files.cert, key: files.key, ca: "absent.pem", want: "absent.pem"},
	} {
		code, _, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "", "--tls-cert", c.cert, "--tls-key", c.key, "--tls-client-ca", c.ca)
		assert.Equal(t, 2, code, name)
		assert.Contains(t, stderr, c.want, name)
		assert.NotContains(t, stderr, "PRIVATE", name)
	}
}

func TestCertificateExpiryWarning(t *testing.T) {
	own := newAuthority(t, "own")
	for name, c := range map[string]struct {
		validFor time.Duration
		warns    bool
	}{"in a week": {7 * 24 * time.Hour, true}, "in a month": {30 * 24 * time.Hour, false}} {
		var log bytes.Buffer
		files := newTLSFiles(t, own.sign(1, -time.Hour, c.validFor))
		server, err := httpserver.Listen(httpserver.Config{Addr: "127.0.0.1:0", MaxConns: 1, TLSCert: files.cert, TLSKey: files.key}, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		server.Close()
		assert.Equal(t, c.warns, strings.Contains(log.String(), "expires soon"), name)
	}
}
