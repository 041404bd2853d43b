// An API server for one Lease, which refuses updates of old versions, runs in this process. The first client leads, and another one
// takes the Lease over, as it does when the first one was paused for longer than the lease. Then the first one is cancelled.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"time"

	lease "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	server := &apiServer{}
	address := httptest.NewServer(server).URL
	config := &rest.Config{Host: address, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	leases, err := client.NewForConfig(config)
	if err != nil {
		end("could not try: %v", err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: meta.ObjectMeta{Namespace: "default", Name: "job"}, Client: leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: "first"},
		},
		LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 30 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		end("could not try: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		elector.Run(ctx)
		close(ended)
	}()
	for begun := time.Now(); server.get().ResourceVersion != "2"; { // it leads, and has renewed once; the next time is in 30 s
		if time.Since(begun) > 20*time.Second {
			end("could not try: the first client does not lead")
		}
		time.Sleep(10 * time.Millisecond)
	}

	taken := server.get()
	other := "other"
	taken.Spec.HolderIdentity = &other
	if _, err := leases.Leases("default").Update(ctx, &taken, meta.UpdateOptions{}); err != nil {
		end("could not try: %v", err)
	}
	cancel()
	<-ended
	if holder := *server.get().Spec.HolderIdentity; holder != "other" {
		end("exists: the first client has set the holder of the Lease from %q to %q", "other", holder)
	}
	end("gone: the holder of the Lease is still the other client")
}

// apiServer keeps one Lease.
type apiServer struct {
	mu      sync.Mutex
	version int // 0: there is none
	lease   lease.Lease
}

func (a *apiServer) get() lease.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var given lease.Lease
	_ = json.NewDecoder(r.Body).Decode(&given)
	refuse := func(code int, reason meta.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(meta.Status{Status: meta.StatusFailure, Reason: reason, Code: int32(code), Message: string(reason)})
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodPost && a.version == 0:
		refuse(http.StatusNotFound, meta.StatusReasonNotFound)
		return
	case r.Method == http.MethodPut && given.ResourceVersion != a.lease.ResourceVersion:
		refuse(http.StatusConflict, meta.StatusReasonConflict)
		return
	case r.Method != http.MethodGet:
		a.version++
		a.lease = given
		a.lease.ResourceVersion = strconv.Itoa(a.version)
	}
	_ = json.NewEncoder(w).Encode(a.lease)
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
