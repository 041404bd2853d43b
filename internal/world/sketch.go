package world

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"lockbench/service"
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
	return Sketch{Group: s.Service.Open(s.Topology, nowhere{}), Requests: s.Service.Wire().Unread}
}

// errSketch is the error of a host that runs nothing.
var errSketch = errors.New("this cluster is a sketch and runs nothing")

// nowhere is the host of servers that do not run.
type nowhere struct{}

func (nowhere) Addr(string) netip.AddrPort                     { return netip.AddrPort{} }
func (nowhere) AddrFor(string, string, int) netip.AddrPort     { return netip.AddrPort{} }
func (nowhere) Dial(context.Context, string) (net.Conn, error) { return nil, errSketch }
func (nowhere) Status(string) service.Status                   { return service.Status{Why: errSketch} }
func (nowhere) Follow(string, netip.AddrPort) error            { return errSketch }
func (nowhere) Lead(string) error                              { return errSketch }
func (nowhere) Settings() map[string]string                    { return nil }
func (nowhere) Reaches(context.Context, string, string) error  { return errSketch }
func (nowhere) Renew(context.Context, string) error            { return errSketch }
