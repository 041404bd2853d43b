package zookeeper

import (
	"encoding/binary"
	"errors"
	"strconv"

	"lockbench/internal/service"
)

// wire finds the packets of clients. Each begins with its length, the number of the request, and the
// operation. A connection may consist of one word of four letters instead.
var wire = service.Wire{Request: readRequest, Greetings: greetings, Sign: "RUOK"}

// ops are the names under which requests are counted.
var ops = map[int32]string{
	0: "NOTIFICATION", 1: "CREATE", 2: "DELETE", 3: "EXISTS", 4: "GET-DATA", 5: "SET-DATA", 6: "GET-ACL", 7: "SET-ACL",
	8: "GET-CHILDREN", 9: "SYNC", 11: "PING", 12: "GET-CHILDREN2", 13: "CHECK", 14: "MULTI", 15: "CREATE2",
	16: "RECONFIG", 17: "CHECK-WATCHES", 18: "REMOVE-WATCHES", 19: "CREATE-CONTAINER", 21: "CREATE-TTL", 22: "MULTI-READ",
	100: "AUTH", 101: "SET-WATCHES", 102: "SASL", 105: "SET-WATCHES2", 106: "ADD-WATCH", 107: "WHO-AM-I", -11: "CLOSE",
}

// connect is the name of the packet that opens a session.
const connect = "CONNECT"

// greetings are the requests that client libraries send by themselves.
var greetings = []string{connect, "PING", "AUTH", "SASL", "SET-WATCHES", "SET-WATCHES2", "CLOSE", "RUOK"}

// packetMax is more than a server takes in one packet.
const packetMax = 64 << 20

// readRequest reads one packet, or the word that asks for a sign of life, after which the server closes the
// connection. The first packet of a session has its protocol's version, 0, where other packets have the
// number of the request, which is never 0.
func readRequest(data []byte) (name []byte, length int, err error) {
	if len(data) < 4 {
		return nil, 0, nil
	}
	if string(data[:4]) == sign {
		return []byte("RUOK"), len(data), nil
	}
	n := binary.BigEndian.Uint32(data)
	switch {
	case n < headLength || n > packetMax:
		return nil, 0, errors.New("not a packet of ZooKeeper")
	case len(data) < 4+int(n):
		return nil, 0, nil
	}
	xid, op := binary.BigEndian.Uint32(data[4:]), int32(binary.BigEndian.Uint32(data[8:]))
	if xid == 0 {
		return []byte(connect), 4 + int(n), nil
	}
	known, ok := ops[op]
	if !ok {
		known = "OP-" + strconv.Itoa(int(op))
	}
	return []byte(known), 4 + int(n), nil
}

// headLength is the length of a request's number and operation.
const headLength = 8
