package world

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"lockbench/internal/service"
)

// Sketch is a cluster that is not started. Plans check which faults apply to it.
type Sketch struct {
	service.Group // the servers, which do not run
	// The fields below are why the world cannot do something; nil: it can.
	Clocks       error // shift the clocks of servers
	ClientClocks error // shift the clocks of clients
	ClientDrift  error // make the clocks of clients run fast or slow
	Bandwidth    error // limit the rate of links
	Requests     error // count and hold the requests of clients
	// Lacks returns why the world cannot do something to nodes, or to links between them. Nil: it can.
	Lacks func(Action) error
}

// NewSketch returns the sketch of a spec, in a world that can do everything.
func NewSketch(s Spec) Sketch {
	if s.Service == nil {
		return Sketch{Group: service.NoServers{}}
	}
	return Sketch{Group: s.Service.Open(s.Topology, Nowhere{}), Requests: s.Service.Wire.Unread}
}

var errNowhere = errors.New("lockbench runs no servers of this cluster")

// Nowhere is the host of servers that lockbench does not run.
type Nowhere struct{}

func (Nowhere) Addr(string) netip.AddrPort                     { return netip.AddrPort{} }
func (Nowhere) AddrFor(string, string, int) netip.AddrPort     { return netip.AddrPort{} }
func (Nowhere) Dial(context.Context, string) (net.Conn, error) { return nil, errNowhere }
func (Nowhere) Status(string) service.Status                   { return service.Status{Why: errNowhere} }
func (Nowhere) Follow(string, netip.AddrPort) error            { return errNowhere }
func (Nowhere) Lead(string) error                              { return errNowhere }
func (Nowhere) Settings() map[string]string                    { return nil }
func (Nowhere) Reaches(context.Context, string, string) error  { return errNowhere }
func (Nowhere) Renew(context.Context, string) error            { return errNowhere }
