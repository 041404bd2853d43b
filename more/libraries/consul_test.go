//go:build !wasip1

package libraries

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/locks"
)

// consulFake is a server that knows one key and forgets sessions at once.
type consulFake struct {
	mu      sync.Mutex
	session string // that holds the key; empty: free
	value   string
	grants  int
	lose    string // the request whose answer is lost: acquire or release
}

func (f *consulFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := r.URL.Query()
	body := make([]byte, 100)
	n, _ := r.Body.Read(body)
	w.Header().Set("X-Consul-Index", "1")
	lost := func(what string) {
		if f.lose == what {
			panic(http.ErrAbortHandler)
		}
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/session/create"):
		fmt.Fprintf(w, `{"ID": "s%d"}`, rand.Uint64())
	case strings.HasPrefix(r.URL.Path, "/v1/session/"):
		fmt.Fprint(w, "[]")
	case asked.Has("acquire"):
		granted := f.session == ""
		if granted {
			f.session, f.value, f.grants = asked.Get("acquire"), string(body[:n]), f.grants+1
		}
		lost("acquire")
		fmt.Fprint(w, granted)
	case asked.Has("release"):
		held := f.session == asked.Get("release")
		if held {
			f.session = ""
		}
		lost("release")
		fmt.Fprint(w, held)
	case asked.Has("index"):
		f.mu.Unlock()
		select { // nothing changes
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
		f.mu.Lock()
		fallthrough
	case f.grants > 0:
		fmt.Fprintf(w, `[{"Key": "a", "Value": %q, "Session": %q, "LockIndex": %d, "Flags": %d}]`,
			base64.StdEncoding.EncodeToString([]byte(f.value)), f.session, f.grants, uint64(0x2ddccbc058a50c18))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func openConsulFake(t *testing.T, f *consulFake) locks.Locker {
	t.Helper()
	server := httptest.NewUnstartedServer(f)
	server.Config.SetKeepAlivesEnabled(false) // what was lost is not sent again on another connection
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	open, err := openConsulLock(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), locks.Client{
		Rand:  rand.New(rand.NewPCG(1, 2)),
		Store: locks.Store{Service: "consul", Endpoints: map[string][]locks.Node{"consul": {{Name: "consul-1", Addr: server.Listener.Addr().String()}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Definite answers are definite errors, and lost answers are not.
func TestConsulLock(t *testing.T) {
	f := &consulFake{}
	l := openConsulFake(t, f)
	ctx := t.Context()
	one := locks.Request{Keys: []string{"a"}, TTL: 2 * time.Second}
	held, err := l.Acquire(ctx, one)
	if err != nil {
		t.Fatal(err)
	}
	if token := held.(locks.Fenced).Token(); token != 1 {
		t.Errorf("the first grant has the token %d", token)
	}
	if _, err := l.Acquire(ctx, one); !errors.Is(err, locks.ErrTaken) {
		t.Errorf("what is taken is said to be %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Acquire(gone, one); err == nil || errors.Is(err, locks.ErrTaken) {
		t.Errorf("of one that was given up it is said: %v", err)
	}
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := held.Release(ctx); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("released twice it says %v", err)
	}
	lose := func(what string) {
		f.mu.Lock()
		f.lose = what
		f.mu.Unlock()
	}
	lose("acquire")
	held, err = l.Acquire(ctx, one)
	if err == nil || errors.Is(err, locks.ErrTaken) || held == nil {
		t.Fatalf("granted, the answer is lost, and it says %v, %v", held, err)
	}
	if err := held.Release(ctx); err == nil || errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("released, and it says %v", err)
	}
	lose("")
	f.mu.Lock()
	f.session = ""
	f.mu.Unlock()
	held, err = l.Acquire(ctx, one)
	if err != nil || held.(locks.Fenced).Token() != 3 {
		t.Fatalf("the third grant: %v, %v", held, err)
	}
	lose("release")
	for range 2 {
		if err := held.Release(ctx); err == nil || errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("the answer to a release is lost, and it says %v", err)
		}
	}
	if _, err := l.Acquire(ctx, locks.Request{Keys: []string{"a", "b"}}); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("two keys: %v", err)
	}
	l.Close()
	if _, err := l.Acquire(ctx, one); err == nil || errors.Is(err, locks.ErrTaken) {
		t.Errorf("it was closed, and says %v", err)
	}
}
