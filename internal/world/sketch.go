package world

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"lockbench/service"
)

// errSketch is the error of all operations of a Sketch.
var errSketch = errors.New("this cluster is a sketch and runs nothing")

// Sketch is a cluster that runs nothing. Plans check which faults apply to it.
type Sketch struct {
	service.Group
	// Clocks is why the clocks of the servers cannot be shifted; nil: they can. The others are the same for clocks
	// of clients, for their drift, and for the rate of links.
	Clocks, ClientClocks, ClientDrift, Bandwidth error
	// Limits returns what is missing for an action (see Lacks); nil: nothing is missing.
	Limits func(Action) error
	// Promotes reports that the world itself can promote a node.
	Promotes bool
	unread   error // why requests of clients cannot be counted and held
}

// NewSketch returns the sketch of a spec.
func NewSketch(s Spec) Sketch {
	if s.Service == nil {
		return Sketch{Group: service.NoServers{}}
	}
	return Sketch{Group: s.Service.Open(s.Topology, nowhere{}), unread: s.Service.Wire().Unread}
}

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

// The interfaces of a sketch. Every operation fails.
var (
	_ Cluster        = Sketch{}
	_ NodeController = Sketch{}
	_ LinkController = Sketch{}
	_ RequestTracker = Sketch{}
	_ ClockShifter   = Sketch{}
	_ LinkThrottler  = Sketch{}
)

// Abilities returns those of the servers, and those of the world.
func (s Sketch) Abilities() service.Abilities {
	a := s.Group.Abilities()
	if s.Promotes {
		a.Promote = func(context.Context, string) (string, error) { return "", errSketch }
	}
	return a
}

func (s Sketch) Servers() service.Group                                           { return s.Group }
func (s Sketch) Open(context.Context, ClientSpec) (Client, error)                 { return nil, errSketch }
func (s Sketch) Kill(context.Context, string) error                               { return errSketch }
func (s Sketch) Start(context.Context, string, bool) error                        { return errSketch }
func (s Sketch) PauseNode(context.Context, string) error                          { return errSketch }
func (s Sketch) ResumeNode(context.Context, string) error                         { return errSketch }
func (s Sketch) Cut(context.Context, []Link) error                                { return errSketch }
func (s Sketch) Join(context.Context, []Link) error                               { return errSketch }
func (s Sketch) Shape(context.Context, []Link, Delay) error                       { return errSketch }
func (s Sketch) Unshape(context.Context, []Link) error                            { return errSketch }
func (s Sketch) DropReplies(context.Context, []Link) error                        { return errSketch }
func (s Sketch) KeepReplies(context.Context, []Link) error                        { return errSketch }
func (s Sketch) RequestsReady() error                                             { return s.unread }
func (s Sketch) Requests(string) map[string]int                                   { return nil }
func (s Sketch) HoldReply(string, int) Held                                       { return nil }
func (s Sketch) HoldRequest(string, int) Held                                     { return nil }
func (s Sketch) Reset(context.Context, []Link) (int, error)                       { return 0, errSketch }
func (s Sketch) ClocksReady() error                                               { return s.Clocks }
func (s Sketch) ShiftClock(context.Context, string, time.Duration, float64) error { return errSketch }
func (s Sketch) BandwidthReady() error                                            { return s.Bandwidth }
func (s Sketch) Throttle(context.Context, []Link, int64) error                    { return errSketch }
func (s Sketch) Unthrottle(context.Context, []Link) error                         { return errSketch }
func (s Sketch) PingBulk(context.Context, string, string, int) error              { return errSketch }
func (s Sketch) Lacks(d Action) error {
	if s.Limits == nil {
		return nil
	}
	return s.Limits(d)
}
func (s Sketch) ClientClocksReady(drifts bool) error {
	if drifts && s.ClientClocks == nil {
		return s.ClientDrift
	}
	return s.ClientClocks
}
func (s Sketch) ShiftClientClock(int, time.Duration, float64) error { return errSketch }
func (s Sketch) ClientClockOffset(int) (time.Duration, error)       { return 0, errSketch }
