package history

import (
	"strconv"
	"strings"
)

// Party is a target of a plan, a fault or a link: the client client-3, or a node of the lock service such as redis-1.
type Party struct {
	Kind   string // client, or the name of a part of the topology: redis, sentinel
	Number int    // -1 if the name has none, as servers in histories of other programs may
}

// clientKind is the kind of clients.
const clientKind = "client"

// ClientParty is a client.
func ClientParty(id int) Party { return Party{clientKind, id} }

// ParseParty reads a name. It accepts every name.
func ParseParty(name string) Party {
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if n, err := strconv.ParseUint(name[i+1:], 10, 31); err == nil {
			return Party{name[:i], int(n)}
		}
	}
	return Party{name, -1}
}

func (p Party) String() string {
	if p.Number < 0 {
		return p.Kind
	}
	return p.Kind + "-" + strconv.Itoa(p.Number)
}

// Client returns the number of a client, or false for a node.
func (p Party) Client() (int32, bool) {
	if p.Kind != clientKind || p.Number < 0 {
		return 0, false
	}
	return int32(p.Number), true
}

// IsClient reports whether the party is a client.
func (p Party) IsClient() bool {
	_, client := p.Client()
	return client
}
