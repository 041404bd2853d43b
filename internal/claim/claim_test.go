//go:build unix

package claim

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claim")
	if Free(path) {
		t.Error("a file that does not exist is free")
	}
	clear := func() (done bool) {
		Clear(path, func() { done = os.Remove(path) == nil })
		return done
	}
	f, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if Free(path) || clear() {
		t.Error("a file that is taken is free")
	}
	if err := f.Close(); err != nil { // as the kernel does when a process ends
		t.Fatal(err)
	}
	if !Free(path) || !clear() {
		t.Error("a file whose owner has ended is not free")
	}
}

// A file that was taken stays, even if others clear the path all the time.
func TestTakeWhileOthersClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claim")
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					Clear(path, func() { _ = os.Remove(path) })
				}
			}
		})
	}
	for range 500 {
		f, err := Take(path)
		if err != nil {
			t.Fatal(err)
		}
		if !is(f, path) {
			t.Fatal("the file was removed after it was taken")
		}
		_ = f.Close()
	}
	close(stop)
	others.Wait()
}
