package wasm

import "time"

// A subscription of poll_oneoff takes 48 bytes, and an event 32.
const (
	subscriptionSize = 48
	eventSize        = 32
	pollMax          = 1 << 16
)

// Kinds of subscriptions.
const (
	pollClock = 0
	pollRead  = 1
	pollWrite = 2
)

// clockAbsolute is the flag for an absolute time.
const clockAbsolute = 1

// subscription is an event that a program waits for.
type subscription struct {
	userdata uint64
	kind     byte
	fd       uint64
	clock    uint32
	at       int64 // by that clock
}

// pollOneoff waits for one of several events. Programs with their own scheduler wait only here.
func pollOneoff(v *Machine, m memory, s []uint64) errno {
	n := ptr(s[2])
	if n == 0 || n > pollMax {
		return errInval
	}
	raw, ok := m.Read(ptr(s[0]), n*subscriptionSize)
	if !ok {
		return errFault
	}
	all := make([]subscription, 0, n)
	now := v.outside.Now()
	for ; len(raw) > 0; raw = raw[subscriptionSize:] {
		sub := subscription{userdata: littleEndian.Uint64(raw), kind: raw[8]}
		switch sub.kind {
		case pollClock:
			sub.clock = littleEndian.Uint32(raw[16:])
			sub.at = int64(littleEndian.Uint64(raw[24:]))
			if littleEndian.Uint16(raw[40:])&clockAbsolute == 0 {
				// A duration is measured by the clock that does not jump.
				sub.clock = clockSteady
				sub.at += v.mono.at(now)
			}
		case pollRead, pollWrite:
			sub.fd = uint64(littleEndian.Uint32(raw[16:]))
		default:
			return errInval
		}
		all = append(all, sub)
	}
	for {
		happened, w := v.look(all)
		if len(happened) == 0 {
			v.park(w)
			continue
		}
		if e := m.put(ptr(s[1]), happened); e != errNone {
			return e
		}
		return m.putUint32(ptr(s[3]), uint32(len(happened)/eventSize))
	}
}

// look returns the events that have happened, and else what to wait for.
func (v *Machine) look(all []subscription) (events []byte, w wait) {
	now := v.outside.Now()
	for _, sub := range all {
		happened, e := v.happened(sub, now)
		switch {
		case !happened && e == errNone && sub.kind == pollClock:
			w.add(sub)
			continue
		case !happened && e == errNone:
			continue
		}
		var event [eventSize]byte
		littleEndian.PutUint64(event[:], sub.userdata)
		littleEndian.PutUint16(event[8:], uint16(e))
		event[10] = sub.kind
		events = append(events, event[:]...)
	}
	return events, w
}

// happened reports whether a time has come, or whether a file can be read or written without a wait.
func (v *Machine) happened(sub subscription, now time.Time) (bool, errno) {
	if sub.kind == pollClock {
		shows, e := v.clock(sub.clock, now)
		return sub.at <= shows, e
	}
	f := v.file(sub.fd)
	switch {
	case f == nil:
		return false, errBadF
	case f.socket == nil:
		return true, errNone
	case sub.kind == pollRead:
		return f.socket.Readable(), errNone
	}
	return f.socket.Writable(), errNone
}

// add lets a clock end a wait.
func (w *wait) add(sub subscription) {
	w.timed = true
	earliest := &w.mono
	if sub.clock == clockWall {
		earliest = &w.wall
	}
	if *earliest == 0 || sub.at < *earliest {
		*earliest = sub.at
	}
}
