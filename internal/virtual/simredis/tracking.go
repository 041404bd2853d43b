package simredis

import (
	"strings"

	"github.com/alicebob/miniredis/v2/proto"
)

// tracking is the state of a connection in client-side caching (see [readers]): the options of CLIENT TRACKING and CLIENT
// CACHING.
type tracking struct {
	on, optIn, optOut, noLoop bool
	caching                   bool // CLIENT CACHING applies to the next command or transaction
}

// remembers reports whether the keys of a reading command are stored.
func (t tracking) remembers() bool {
	return t.on && !(t.optIn && !t.caching) && !(t.optOut && t.caching)
}

// track answers CLIENT TRACKING. It does not support pushes to other connections (REDIRECT) and by prefix (BCAST).
func (c *caller) track(option string, options []string) (reply string, known bool) {
	asked := tracking{on: true, caching: c.tracking.caching}
	for _, o := range options {
		switch strings.ToUpper(o) {
		case "OPTIN":
			asked.optIn = true
		case "OPTOUT":
			asked.optOut = true
		case "NOLOOP":
			asked.noLoop = true
		case "BCAST", "REDIRECT", "PREFIX":
			return "", false
		default:
			return proto.Error(syntaxError), true
		}
	}
	before := c.tracking
	switch {
	case option == "OFF":
		c.tracking = tracking{}
		return okay, true
	case option != "ON":
		return proto.Error(syntaxError), true
	case asked.optIn && asked.optOut:
		return proto.Error("ERR You can't specify both OPTIN mode and OPTOUT mode"), true
	case asked.optIn && before.optOut, asked.optOut && before.optIn:
		return proto.Error("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."), true
	}
	c.tracking = asked
	return okay, true
}

// cache answers CLIENT CACHING.
func (c *caller) cache(option string) string {
	t := &c.tracking
	switch {
	case !t.on:
		return proto.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case option == "YES" && !t.optIn:
		return proto.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case option == "NO" && !t.optOut:
		return proto.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case option != "YES" && option != "NO":
		return proto.Error(syntaxError)
	}
	t.caching = true
	return okay
}

// tracks returns the tracking state and the protocol version of the connection.
func (c *caller) tracks() (t tracking, resp3 bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tracking, c.resp3
}

// commandDone ends the effect of CLIENT CACHING.
func (c *caller) commandDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracking.caching = false
}
