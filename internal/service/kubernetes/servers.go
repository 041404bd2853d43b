package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"lockbench/internal/service"
	"lockbench/internal/service/etcd"
)

// servers are the running API servers, and the members of etcd, which decide who leads.
type servers struct {
	service.Servers // the members of etcd
	all             *service.Cluster
}

var _ service.Servers = (*servers)(nil)

func newServers(t service.Topology, h service.Host) *servers {
	return &servers{Servers: etcd.Service.Open(storage(t), h), all: service.NewCluster(t, h, nil)}
}

func (g *servers) Nodes() []service.Node      { return g.all.Nodes() }
func (g *servers) Topology() service.Topology { return g.all.Topology() }

// Params returns the login and the namespace of clients.
func (g *servers) Params() map[string]string {
	return map[string]string{Token: token, Namespace: namespace}
}

// Abilities returns the only ability of API servers with their etcd: another member can lead.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{Promote: g.Servers.Abilities().Promote}
}

// isAPIServer reports whether a node is an API server.
func (g *servers) isAPIServer(node string) bool {
	return slices.ContainsFunc(g.Topology().InPart(APIServers), func(n service.Node) bool { return n.Name == node })
}

// Answers checks that a node serves clients.
func (g *servers) Answers(ctx context.Context, node string) error {
	if !g.isAPIServer(node) {
		return g.Servers.Answers(ctx, node)
	}
	if err := g.look(ctx, node, "/livez"); !errors.Is(err, errToken) {
		return err
	}
	return nil // Form returns the error, because it will not go away
}

// Form checks that the API servers accept the token.
func (g *servers) Form(ctx context.Context) error {
	return service.Each(g.Topology().InPart(APIServers), func(n service.Node) error {
		if err := g.look(ctx, n.Name, "/livez"); errors.Is(err, errToken) {
			return err
		}
		return nil // Healthy waits for it
	})
}

// Rejoin replaces a member of etcd without data. API servers keep none.
func (g *servers) Rejoin(ctx context.Context, node string) (joins bool, err error) {
	if g.isAPIServer(node) {
		return false, nil
	}
	return g.Servers.Rejoin(ctx, node)
}

// Healthy also checks that all API servers are ready and that each reads Leases.
func (g *servers) Healthy(ctx context.Context) error {
	if err := g.Servers.Healthy(ctx); err != nil {
		return err
	}
	return service.Each(g.Topology().InPart(APIServers), func(n service.Node) error {
		if err := g.look(ctx, n.Name, "/readyz"); err != nil {
			return err
		}
		return g.look(ctx, n.Name, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases?limit=1")
	})
}

// look sends a request to an API server, which must answer that all is well.
func (g *servers) look(ctx context.Context, node, path string) error {
	return g.all.Ask(ctx, node, service.AskLimit, func(ctx context.Context, c net.Conn) error {
		by := transport(c)
		defer by.CloseIdleConnections()
		if err := exchange(ctx, by, http.MethodGet, path, ""); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// transport returns a transport on one connection. API servers sign their own certificates.
func transport(c net.Conn) *http.Transport {
	dial := service.Once(c)
	return &http.Transport{
		DisableCompression: true, // an answer must be as long as it seems
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			return secure, secure.HandshakeContext(ctx)
		},
	}
}

// errToken is the error for an answer to a request with a wrong token.
var errToken = errors.New("it does not accept the token that lockbench gave it in its --token-auth-file")

// exchange sends one request, and returns an error unless the answer is 2xx.
func exchange(ctx context.Context, by *http.Transport, method, path, body string) error {
	r, err := http.NewRequestWithContext(ctx, method, "https://kubernetes"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	said, err := by.RoundTrip(r)
	if err != nil {
		return err
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	switch {
	case err != nil:
		return err
	case said.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w", said.Status, errToken)
	case said.StatusCode/100 != 2:
		return fmt.Errorf("%s: %.300s", said.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// pieceMax is the part of a load in one request.
const pieceMax = 256 << 10

// Greet asks a node whether it lives. The load for an API server is in a question about rights, which the answer repeats.
func (g *servers) Greet(ctx context.Context, node string, c net.Conn, load int) error {
	if !g.isAPIServer(node) {
		return g.Servers.Greet(ctx, node, c, load)
	}
	by := transport(c)
	defer by.CloseIdleConnections()
	if load == 0 {
		return exchange(ctx, by, http.MethodGet, "/livez", "")
	}
	for ; load > 0; load -= pieceMax {
		question := fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"verb":"get","path":"/%s"}}}`,
			strings.Repeat("x", min(load, pieceMax)))
		if err := exchange(ctx, by, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", question); err != nil {
			return err
		}
	}
	return nil
}
