package external

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"lockbench/internal/service"
)

// dialLimit bounds a connection with TLS and login.
const dialLimit = 5 * time.Second

// dial connects to a server, bypassing all faults, and logs in.
func (o Options) dial(ctx context.Context, r service.Role, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if to, elsewhere := o.Hooks.Addresses[addr]; elsewhere {
		addr = to
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if c, err = o.enter(ctx, r, addr, c); err != nil {
		return nil, explained{o.explain(r, err)}
	}
	return c, nil
}

// explained is an error that already names a remedy.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

func (o Options) enter(ctx context.Context, r service.Role, addr string, plain net.Conn) (net.Conn, error) {
	how := service.Access{Credentials: o.Location.Logins[r]}
	if r == service.Data {
		how.Database = o.Location.Database
	}
	if o.TLS != nil {
		how.TLS = o.TLS.Clone()
		how.TLS.NextProtos = o.Location.ALPN
		if how.TLS.ServerName == "" {
			how.TLS.ServerName, _, _ = net.SplitHostPort(addr)
		}
	}
	c, err := o.Service.External.Login(ctx, plain, how)
	if err != nil {
		plain.Close()
		return nil, err
	}
	return c, nil
}

// explain adds a remedy to an error.
func (o Options) explain(r service.Role, err error) error {
	var refused *service.LoginError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &refused):
		if refused.Role != "" {
			r = refused.Role
		}
		return fmt.Errorf("%w; the password is that of %s", err, o.Sources[r])
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("its certificate is not valid now, but from %s to %s: the server needs a new one",
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime))
	case errors.As(err, &unknown):
		return fmt.Errorf("its certificate is signed by an unknown authority: name the authority's certificate with --tls-ca FILE (%w)", err)
	case errors.As(err, &host) && len(host.Certificate.DNSNames)+len(host.Certificate.IPAddresses) == 0:
		return fmt.Errorf("its certificate has no subject alternative name, and its CN does not count: the server needs a new one (%w)", err)
	case errors.As(err, &host):
		return fmt.Errorf("its certificate is for another name: say which with --tls-name NAME (%w)", err)
	case errors.As(err, &noTLS):
		return fmt.Errorf("it speaks no TLS, which the URL asks for (%w)", err)
	case errors.Is(err, service.ErrHandshake) && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it does not answer the TLS handshake: if the port speaks no TLS, use %s:// or another such URL (%w)", o.Service.External.Schemes[0], err)
	case strings.Contains(err.Error(), "remote error: tls"):
		return fmt.Errorf("it does not accept the certificate of this side: --tls-cert FILE --tls-key FILE (%w)", err)
	case o.TLS != nil && len(o.TLS.Certificates) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		return fmt.Errorf("it ends the connection; it may want a certificate of this side: --tls-cert FILE --tls-key FILE (%w)", err)
	case errors.Is(err, io.EOF) && o.TLS == nil:
		return fmt.Errorf("it ends the connection; if it wants TLS, the URL must ask for it (%w)", err)
	}
	return err
}
