package guest

import (
	"lockbench/locks"
)

// Hello is the first line that a guest writes.
type Hello struct {
	Hello   string       `json:"hello"` // "lockbench-guest/1"
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	Family  locks.Family `json:"family"` // "single-store", "majority" or "control"
	// Service is the lock service that the guest uses. Empty: "redis".
	Service string       `json:"service,omitempty"`
	Claims  locks.Claims `json:"claims,omitzero"`
	// Model is the list of models by which the lock is judged: mutex (default), fenced, ...
	Model []string `json:"model,omitempty"`
	// SourceAddress reports that the guest binds its connections to local_addr of the open request, so that it may follow
	// discovery to other addresses.
	SourceAddress bool `json:"source_address,omitempty"`
	// AddrMap reports that the guest replaces addresses by those in addr_map of the open request, so that it may follow
	// discovery even if the servers' own addresses are unreachable.
	AddrMap bool `json:"addr_map,omitempty"`

	// Unknown describes a field of a received hello that the protocol does not have, probably a spelling mistake. lockbench
	// ignores it.
	Unknown string `json:"-"`
}

// HelloOf returns the hello of a lock. Hello does not embed the card, because its fields have the order of the protocol.
func HelloOf(c locks.Card) Hello {
	return Hello{Name: c.Name, Family: c.Family, Claims: c.Claims, Model: c.JudgedAs()}
}

// Card returns the guest as a card. Without a model it is a mutex, whatever its capabilities.
func (h Hello) Card() locks.Card {
	c := locks.Card{Name: h.Name, Family: h.Family, Claims: h.Claims, Model: h.Model}
	if len(c.Model) == 0 {
		c.Model = []string{"mutex"}
	}
	return c
}

// ProtocolVersion is the value of Hello.Hello.
const ProtocolVersion = "lockbench-guest/1"

// The operations of Request.Op.
const (
	OpOpen    = "open"
	OpAcquire = "acquire"
	OpCheck   = "check"
	OpTouch   = "touch"
	OpRenew   = "renew"
	OpRelease = "release"
	OpClose   = "close"
)

// The values of Answer.Notice.
const (
	NoticeLost   = "lost"   // the library knows that the session's lock is lost
	NoticeQueued = "queued" // the session's acquire entered the lock's queue
)

// Request is one line from the host.
type Request struct {
	ID int64  `json:"id"`
	Op string `json:"op"` // open, acquire, check, touch, renew, release, close

	// open
	Client  int               `json:"client,omitempty"`
	Lock    string            `json:"lock,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Seed    uint64            `json:"seed,omitempty"`
	Store   *StoreAddresses   `json:"store,omitempty"`

	// acquire, check, touch, renew, release
	Session string `json:"session,omitempty"`

	// acquire
	Key   string   `json:"key,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Mode  string   `json:"mode,omitempty"`
	Owner string   `json:"owner,omitempty"`
	TTL   int64    `json:"ttl_ns,omitempty"` // renew too
	Wait  int64    `json:"wait_ns,omitempty"`
}

// Answer is one line from the guest: the answer to request ID, or a notice.
type Answer struct {
	ID int64 `json:"id,omitempty"`
	// An answer has exactly one of OK, Done, Fail and Unknown.
	OK      bool   `json:"ok,omitempty"`
	Done    bool   `json:"done,omitempty"`    // release, renew: it returned, and the library does not report whether the session held
	Fail    string `json:"fail,omitempty"`    // taken, not-held, lost, unsupported, bad-request: definite
	Unknown string `json:"unknown,omitempty"` // any other error, as text

	// acquire ok; until_ns also on renew ok
	Until   *int64   `json:"until_ns,omitempty"` // from the moment the request was read
	Token   *uint64  `json:"token,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Lease   int64    `json:"lease_ns,omitempty"` // length of a lease that the library renews
	Renewed bool     `json:"renewed,omitempty"`
	Period  int64    `json:"period_ns,omitempty"` // between two renewals

	Notice  string `json:"notice,omitempty"`
	Session string `json:"session,omitempty"`
	Text    string `json:"text,omitempty"` // detail of a fail
}
