package trial

import (
	"sync"
	"time"
)

// keyTimes records the last grant of each key.
type keyTimes struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (k *keyTimes) mark(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = make(map[string]time.Time)
	}
	k.last[key] = time.Now()
}

// since returns the number of keys granted after a time.
func (k *keyTimes) since(t time.Time) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, last := range k.last {
		if last.After(t) {
			n++
		}
	}
	return n
}
