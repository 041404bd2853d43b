package simredis

import (
	"fmt"
	"slices"
	"time"
)

// The policies of appendfsync.
const (
	always   = "always"
	everysec = "everysec"
)

const flushEvery = time.Second

// disk models the append-only file of a node: what is on its disk after a loss of power. The policy always flushes each
// write before its answer, and no never flushes by itself. With everysec, a write is flushed at once if the last flush is a
// second ago, and else a second after the last flush:
//
//	writes    1   2    3            4
//	flushes   1        2,3          4
//	          ├── 1 s ─┤
//
// It is used by one command at a time, and at the start and the end of the process.
type disk struct {
	settings settings
	kept     []entry   // the data on disk while the process is down
	flushed  []entry   // the data at the last flush
	at       time.Time // of the last flush
	waits    bool      // something was written since
}

// began is called when the process has loaded what was on its disk.
func (d *disk) began(k keyspace) {
	d.flushed, d.at, d.waits = nil, time.Time{}, false
	if d.settings.keeps {
		d.flushed = k.everything()
	}
}

// flush flushes what is due. It must be called before data changes.
func (d *disk) flush(k keyspace) {
	due := d.at.Add(flushEvery)
	if d.waits && d.settings.fsync == everysec && !time.Now().Before(due) {
		d.flushed, d.at, d.waits = k.everything(), due, false
	}
}

// wrote is called when data has changed.
func (d *disk) wrote(k keyspace) {
	if !d.settings.keeps || d.settings.fsync != everysec {
		return
	}
	if now := time.Now(); now.Before(d.at.Add(flushEvery)) {
		d.waits = true
	} else {
		d.flushed, d.at, d.waits = k.everything(), now, false
	}
}

// ended is called when the process ends.
func (d *disk) ended(k keyspace) {
	d.kept = nil
	if d.settings.keeps {
		d.flush(k)
		d.kept = k.everything()
	}
}

// losePower forgets what was not flushed, and returns in words what that was.
func (d *disk) losePower() string {
	if !d.settings.keeps {
		return "had nothing on its disk"
	}
	had := d.kept
	if d.settings.fsync != always {
		d.kept = d.flushed
	}
	changed := 0
	for _, e := range had {
		if !slices.ContainsFunc(d.kept, func(k entry) bool { return k.key == e.key && k.text == e.text && k.end.Equal(e.end) }) {
			changed++
		}
	}
	return fmt.Sprintf("lost what was not flushed of %d keys of %d", changed, len(had))
}
