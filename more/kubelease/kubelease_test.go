package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"lockbench/internal/service/kubernetes"
	"lockbench/locks"
)

// apiServer is an API server for Leases.
type apiServer struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordination.Lease
	silent  bool // it accepts requests and does not answer
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // only then the server sees that a client has gone
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silent {
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code)})
	}
	var given coordination.Lease
	_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(body, nil, &given)
	has := a.leases[r.URL.Path]
	if r.Method == http.MethodPost {
		has = a.leases[r.URL.Path+"/"+given.Name]
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer secret":
		refuse(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
		return
	case r.Method == http.MethodPost && has != nil:
		refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	case r.Method != http.MethodPost && has == nil:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodPut && has.ResourceVersion != given.ResourceVersion:
		refuse(http.StatusConflict, metav1.StatusReasonConflict)
		return
	case r.Method == http.MethodPost:
		has = &given
		a.leases[r.URL.Path+"/"+given.Name] = has
	case r.Method == http.MethodPut:
		has = &given
		a.leases[r.URL.Path] = has
	}
	if r.Method != http.MethodGet {
		a.version++
		has.ResourceVersion = fmt.Sprint(a.version)
	}
	has.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	_ = json.NewEncoder(w).Encode(has)
}

// newLockers returns two clients of a server.
func newLockers(t *testing.T, words ...string) (*apiServer, [2]locks.Locker) {
	t.Helper()
	a := &apiServer{leases: map[string]*coordination.Lease{}}
	server := httptest.NewTLSServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	opener, err := open(words)
	if err != nil {
		t.Fatal(err)
	}
	var both [2]locks.Locker
	for i := range both {
		both[i], err = opener(t.Context(), locks.Client{ID: i, Rand: rand.New(rand.NewPCG(1, uint64(i))), Store: locks.Store{
			Service: kubernetes.Name,
			Endpoints: map[string][]locks.Node{kubernetes.APIServers: {
				{Name: "apiserver-1", Addr: "127.0.0.1:1"}, // nothing listens there
				{Name: "apiserver-2", Addr: server.Listener.Addr().String()},
			}},
			Params: map[string]string{kubernetes.Token: "secret", kubernetes.Namespace: "default"},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, both
}

func request(wait time.Duration) locks.Request { return locks.Request{Keys: []string{"a"}, Wait: wait} }

// A release with ReleaseOnCancel lets another client lead at once, and without it only after the lease.
func TestAcquireAndRelease(t *testing.T) {
	for _, c := range []struct {
		release string
		led     bool
	}{{"on", true}, {"off", false}} {
		_, both := newLockers(t, "lease=1m", "renew=40s", "retry=20ms", "release-on-cancel="+c.release)
		held, err := both[0].Acquire(t.Context(), request(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if l := held.(*lease); l.Lease() != time.Minute || l.Period() != 20*time.Millisecond {
			t.Errorf("the lease is %v, renewed each %v", l.Lease(), l.Period())
		}
		second, err := both[1].Acquire(t.Context(), request(300*time.Millisecond))
		if err == nil || errors.Is(err, locks.ErrTaken) {
			t.Errorf("a second client: %v", err)
		}
		if err := second.Release(t.Context()); !errors.Is(err, locks.ErrUnconfirmed) {
			t.Errorf("the second client gives up: %v", err)
		}
		if err := held.Release(t.Context()); !errors.Is(err, locks.ErrUnconfirmed) {
			t.Errorf("release: %v", err)
		}
		wait := time.Minute
		if !c.led {
			wait = time.Second
		}
		third, err := both[1].Acquire(t.Context(), request(wait))
		if (err == nil) != c.led {
			t.Errorf("release-on-cancel=%s: after the release, the second client gets %v", c.release, err)
		}
		_ = third.Release(t.Context())
	}
}

// The library reports a loss by OnStoppedLeading.
func TestLoss(t *testing.T) {
	server, both := newLockers(t, "lease=2s", "renew=200ms", "retry=20ms", "timeout=0s")
	held, err := both[0].Acquire(t.Context(), request(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.(locks.Watched).Lost():
		t.Fatal("lost while all is well")
	default:
	}
	server.mu.Lock()
	server.silent = true
	server.mu.Unlock()
	<-held.(locks.Watched).Lost()
	if err := held.Release(t.Context()); !errors.Is(err, locks.ErrUnconfirmed) {
		t.Errorf("release of a lost lease: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	_, both := newLockers(t, "lease=3s", "renew=2s")
	for name, r := range map[string]locks.Request{
		"no wait":              {Keys: []string{"a"}},
		"two keys":             {Keys: []string{"a", "b"}, Wait: time.Second},
		"shared":               {Keys: []string{"a"}, Wait: time.Second, Mode: locks.Shared},
		"an owner":             {Keys: []string{"a"}, Wait: time.Second, Owner: "o"},
		"a ttl below renew":    {Keys: []string{"a"}, Wait: time.Second, TTL: time.Second},
		"renew equal to a ttl": {Keys: []string{"a"}, Wait: time.Second, TTL: 2 * time.Second},
	} {
		if _, err := both[0].Acquire(t.Context(), r); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	held, err := both[0].Acquire(ctx, request(time.Minute))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was cancelled: %v", err)
	}
	_ = held.Release(t.Context())
}

func TestObjectName(t *testing.T) {
	names := map[string]bool{}
	for _, key := range []string{"a", "b-1", "A", "a.b", "{a}", "", "lock.a"} {
		names[objectName(key)] = true
	}
	if len(names) != 7 || objectName("a") != "lock.a" {
		t.Errorf("names of objects: %v", names)
	}
}

// The defect of docs/findings/kube-lease.md exists: an elector that is cancelled after another one took over clears the
// Lease of that one.
func TestLateReleaseClearsTheLeaseOfAnother(t *testing.T) {
	server, both := newLockers(t, "lease=1m", "renew=40s", "retry=30s")
	held, err := both[0].Acquire(t.Context(), request(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for { // until its first renewal, after which it sleeps for half a minute
		server.mu.Lock()
		renewed := server.version > 1
		server.mu.Unlock()
		if renewed {
			break
		}
		time.Sleep(time.Millisecond)
	}
	server.mu.Lock()
	other := "other"
	for _, lease := range server.leases {
		server.version++
		lease.ResourceVersion, lease.Spec.HolderIdentity = fmt.Sprint(server.version), &other
	}
	server.mu.Unlock()
	if err := held.Release(t.Context()); !errors.Is(err, locks.ErrUnconfirmed) {
		t.Fatal(err)
	}
	for name, lease := range server.leases {
		if holder := *lease.Spec.HolderIdentity; holder != "" {
			t.Errorf("the holder of %s is %q: the defect is fixed", name, holder)
		}
	}
}
