package simredis

import (
	"fmt"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// This file models the append-only file of a node: what is on its disk after a loss of power. The policy always flushes
// each write before its answer, and no never flushes by itself. With everysec, a write is flushed at once if the last
// flush is a second ago, and else a second after the last flush:
//
//	writes    1   2    3            4
//	flushes   1        2,3          4
//	          ├── 1 s ─┤

// The policies of appendfsync.
const (
	always   = "always"
	everysec = "everysec"
)

const flushEvery = time.Second

// disk is the append-only file of a node. It is guarded by node.exec, and by the end of the process.
type disk struct {
	flushed []entry   // the data at the last flush
	at      time.Time // of the last flush
	waits   bool      // something was written since
}

// began is called when the process has loaded what was on its disk.
func (n *node) began(m *miniredis.Miniredis) {
	n.disk = disk{}
	if n.cluster.settings.keeps {
		n.disk.flushed = n.everything(m)
	}
}

// flush flushes what is due. It must be called before data changes.
func (n *node) flush(m *miniredis.Miniredis) {
	due := n.disk.at.Add(flushEvery)
	if n.disk.waits && n.cluster.settings.fsync == everysec && !time.Now().Before(due) {
		n.disk = disk{flushed: n.everything(m), at: due}
	}
}

// wrote is called when data has changed.
func (n *node) wrote(m *miniredis.Miniredis) {
	if !n.cluster.settings.keeps || n.cluster.settings.fsync != everysec {
		return
	}
	if now := time.Now(); now.Before(n.disk.at.Add(flushEvery)) {
		n.disk.waits = true
	} else {
		n.disk = disk{flushed: n.everything(m), at: now}
	}
}

// everything copies all data.
func (n *node) everything(m *miniredis.Miniredis) []entry {
	n.setClock(m)
	return dump(m, m.DB(0).Keys(), n.clock.Now())
}

// LosePower forgets what was not flushed.
func (n *node) LosePower() string {
	if !n.cluster.settings.keeps {
		return "had nothing on its disk"
	}
	had := n.kept
	if n.cluster.settings.fsync != always {
		n.kept = n.disk.flushed
	}
	changed := 0
	for _, e := range had {
		if !slices.ContainsFunc(n.kept, func(k entry) bool { return k.key == e.key && k.text == e.text && k.end.Equal(e.end) }) {
			changed++
		}
	}
	return fmt.Sprintf("lost what was not flushed of %d keys of %d", changed, len(had))
}
