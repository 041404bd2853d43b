// Package kubernetes is the API of Kubernetes as a lock service: API servers that keep Leases in etcd. There are no
// other components.
//
// The members of etcd keep the locks and elect the leader, so they are the nodes with data. Clients connect to the API
// servers only. Lockbench queries API servers by HTTPS and etcd by its JSON gateway, and depends on no package of either.
// One program contains both servers; it has a module of its own, more/kubernetes.
package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/service"
	"lockbench/internal/service/etcd"
	"lockbench/locks"
)

// Name is the name of the service.
const Name = "kubernetes"

// APIServers is the name of the API servers' part and endpoints.
const APIServers = "apiserver"

// The topologies with three members of etcd. Redundant has two API servers.
const (
	Quorum                   = etcd.Quorum
	Redundant locks.Topology = "redundant"
)

// Parameters of clients.
const (
	Token     = "token"     // the bearer token
	Namespace = "namespace" // holds all Leases
)

// The values of the parameters. All requests of the user are allowed.
const (
	token     = "lockbench"
	namespace = "default"
)

var topologies = []service.Topology{
	topology(locks.Single, 1, 1, "1 API server, 1 etcd"),
	topology(Quorum, 3, 1, "1 API server, etcd quorum of {n}"),
	topology(Redundant, 3, 2, "2 API servers, etcd quorum of {n}"),
}

func topology(name locks.Topology, members, servers int, short string) service.Topology {
	return service.Topology{
		Name: name, Short: short, Leads: service.OneLeader, Outlives: members > 1, Entry: APIServers, PeerPorts: 1,
		Parts: []service.Part{
			{Name: etcd.Name, Role: service.Data, Count: members},
			{Name: APIServers, Role: service.Witness, Count: servers},
		},
	}
}

// storage returns the topology of the members of etcd alone.
func storage(t service.Topology) service.Topology {
	of := etcd.Service.Topologies[0]
	if t.Count(service.Data) > 1 {
		of, _ = service.Find(etcd.Service, etcd.Quorum)
	}
	return of
}

// own is how a user names servers of their own.
const own = `a script of your own, such as exec "$@", which runs etcd and kube-apiserver from PATH, with --server kubernetes=PATH`

//go:embed settings.txt
var settingsText string

// Service is Kubernetes.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.Needs{
		Programs:    []service.Executable{{Name: "lockbench-kubernetes", NextTo: true}, {Name: "bash", Package: "bash"}},
		Install:     "`make kubernetes` builds it in some minutes, and puts it next to lockbench; or name " + own,
		VersionArgs: []string{"kube-apiserver", "--version"},
		Version:     service.VersionReader(`(?m)^Kubernetes v((\d+)\.(\d+)\.\S+)`, "a kube-apiserver", 1, 20),
		Least:       "1.20", // before, an API server had other flags
		Shell:       service.Shell{Ping: shellPing, Pong: []byte("HTTP/1.0 400 Bad Request\r\n\r\n")},
	},
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { return newServers(t, h) },
	Wire:    service.Wire{Unread: errors.New("clients of Kubernetes talk TLS, which lockbench does not read")},
}

// etcdSettings begins the names of the settings of etcd.
const etcdSettings = "etcd."

// program returns the command line of a node: its program, and the flags.
func program(at service.Place) service.Program {
	members, flags := map[string]string{}, map[string]string{}
	for name, value := range at.Settings {
		if of, is := strings.CutPrefix(name, etcdSettings); is {
			members[of] = value
		} else {
			flags[name] = value
		}
	}
	if at.Node.Role == service.Data {
		at.Topology, at.Settings = storage(at.Topology), members
		p := etcd.Service.Program(at)
		p.Args = append([]string{"etcd"}, p.Args...)
		return p
	}
	return apiServer(at, flags)
}

// apiServer returns the command line of an API server. Each user is allowed everything, and the tokens of service
// accounts are never used.
func apiServer(at service.Place, settings map[string]string) service.Program {
	var storage []string
	for _, n := range at.Topology.InPart(etcd.Name) {
		storage = append(storage, "http://"+at.Peers[n.Name][0].String())
	}
	listen := at.Listen()
	key, tokens := filepath.Join(at.Config, "service-account.key"), filepath.Join(at.Config, "tokens.csv")
	flags := maps.Clone(settings)
	maps.Copy(flags, map[string]string{
		"etcd-servers": strings.Join(storage, ","),
		"bind-address": listen.Addr().String(), "secure-port": fmt.Sprint(listen.Port()),
		"advertise-address":        at.Announced.Addr().String(),
		"endpoint-reconciler-type": "none", // which wants an address that is not of loopback
		"cert-dir":                 filepath.Join(at.Config, "certificates"),
		"token-auth-file":          tokens, "authorization-mode": "AlwaysAllow",
		"service-account-key-file": key, "service-account-signing-key-file": key,
		"service-account-issuer":    "https://kubernetes.default.svc",
		"service-cluster-ip-range":  "10.0.0.0/24",
		"disable-admission-plugins": "ServiceAccount",
	})
	return service.Program{
		Args: slices.Concat([]string{"kube-apiserver"}, service.Format("--%s=%s", flags)),
		Files: map[string]string{
			key:    signingKey(),
			tokens: token + `,lockbench,1,"system:masters"` + "\n",
		},
	}
}

// signingKey returns a key for tokens of service accounts, which an API server does not start without. All API servers
// have the same one.
var signingKey = sync.OnceValue(func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // the random source of the system does not fail
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
})

// shellPing sends HTTP without TLS. etcd answers it, and an API server refuses it.
func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, `GET /version HTTP/1.0\r\n\r\n`, len("HTTP/1.0")), "HTTP/1.0"
}
