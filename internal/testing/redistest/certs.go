package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certs are the certificates of a test: of an authority, of a server with one name, and of a client.
type Certs struct {
	CA             string // the file of the authority's certificate
	Server, Client Pair
}

// Pair has the files of a certificate and of its key.
type Pair struct{ Cert, Key string }

// CertName is the name in the server's certificate.
const CertName = "redis.test"

// NewCerts creates certificates. The server's certificate is valid until the given time.
func NewCerts(t testing.TB, until time.Time) *Certs {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	make := func(name string, serial int64, of *x509.Certificate, key *ecdsa.PrivateKey) string {
		of.SerialNumber = big.NewInt(serial)
		der, err := x509.CreateCertificate(rand.Reader, of, authority, &key.PublicKey, signer)
		must(t, err)
		return write(name+".pem", "CERTIFICATE", der)
	}
	pair := func(name string, serial int64, end time.Time) Pair {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		der, err := x509.MarshalECPrivateKey(key)
		must(t, err)
		return Pair{
			Cert: make(name, serial, &x509.Certificate{
				Subject: pkix.Name{CommonName: name}, DNSNames: []string{CertName}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: end,
				KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			}, key),
			Key: write(name+".key", "EC PRIVATE KEY", der),
		}
	}
	return &Certs{
		CA:     make("ca", 1, authority, signer),
		Server: pair("server", 2, until), Client: pair("client", 3, time.Now().Add(24*time.Hour)),
	}
}

// Trust returns the TLS settings of a client with a certificate. They accept an expired certificate of the server, so
// that tests with one can query their servers.
func (c *Certs) Trust(t testing.TB) *tls.Config {
	t.Helper()
	own, err := tls.LoadX509KeyPair(c.Client.Cert, c.Client.Key)
	must(t, err)
	return &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
