package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// errSketch is what a cluster answers that was never started.
var errSketch = errors.New("this cluster is a sketch and runs nothing")

// Sketch is a cluster that has nodes and abilities and runs nothing. Plans ask it
// what a fault could concern.
type Sketch struct {
	Form  locks.Topology
	Names []Node
	// Clocks is why the clocks of the servers cannot be shifted; nil: they can.
	// ClientClocks is that of the clients' clocks, and Bandwidth of narrow links.
	Clocks, ClientClocks, Bandwidth error
}

// NewSketch is the usual cluster of a topology: redis-1 is the first master.
func NewSketch(s Spec) Sketch {
	return Sketch{Form: s.Topology, Names: UsualNodes(s)}
}

// UsualNodes are the nodes of a topology by the names that every world gives them.
func UsualNodes(s Spec) []Node {
	data, watchmen := 0, 0
	switch s.Topology {
	case locks.Single:
		data = 1
	case locks.Replicated:
		data = 3
	case locks.Sentinel:
		data, watchmen = 3, 3
	case locks.Cluster:
		data = 6 // three masters, and a replica for each
	case locks.Independent:
		data = s.Masters
		if data == 0 {
			data = 5
		}
	}
	var nodes []Node
	for i := range data {
		nodes = append(nodes, Node{fmt.Sprintf("redis-%d", i+1), Data})
	}
	for i := range watchmen {
		nodes = append(nodes, Node{fmt.Sprintf("sentinel-%d", i+1), Watchman})
	}
	return nodes
}

// The abilities of a sketch: all of them, and none works.
var (
	_ Cluster       = Sketch{}
	_ NodeKiller    = Sketch{}
	_ NodePauser    = Sketch{}
	_ LinkCutter    = Sketch{}
	_ LinkShaper    = Sketch{}
	_ ReplyDropper  = Sketch{}
	_ Promoter      = Sketch{}
	_ RequestHolder = Sketch{}
	_ ConnResetter  = Sketch{}
	_ Operator      = Sketch{}
	_ ClockShifter  = Sketch{}
	_ LinkThrottler = Sketch{}
	_ Keeper        = Sketch{}

	_ ClientClockShifter = Sketch{}
)

func (s Sketch) Nodes() []Node                                                    { return s.Names }
func (s Sketch) Topology() locks.Topology                                         { return s.Form }
func (s Sketch) Master(context.Context) (string, error)                           { return "", errSketch }
func (s Sketch) Masters(context.Context) []string                                 { return nil }
func (s Sketch) Healthy(context.Context) error                                    { return errSketch }
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
func (s Sketch) HoldReply(string, int) (<-chan struct{}, func())                  { return nil, func() {} }
func (s Sketch) Reset(context.Context, []Link) (int, error)                       { return 0, errSketch }
func (s Sketch) Flush(context.Context, string) error                              { return errSketch }
func (s Sketch) Evict(context.Context, string) error                              { return errSketch }
func (s Sketch) Poison(context.Context, string, string) error                     { return errSketch }
func (s Sketch) Cure(context.Context, string, string) error                       { return errSketch }
func (s Sketch) Busy(context.Context, string, time.Duration) error                { return errSketch }
func (s Sketch) DropSubscribers(context.Context, string) (int, error)             { return 0, errSketch }
func (s Sketch) ClocksReady() error                                               { return s.Clocks }
func (s Sketch) ShiftClock(context.Context, string, time.Duration, float64) error { return errSketch }
func (s Sketch) ClockOffset(context.Context, string) (time.Duration, error)       { return 0, errSketch }
func (s Sketch) BandwidthReady() error                                            { return s.Bandwidth }
func (s Sketch) Throttle(context.Context, []Link, int64) error                    { return errSketch }
func (s Sketch) Unthrottle(context.Context, []Link) error                         { return errSketch }
func (s Sketch) PingBulk(context.Context, string, string, int) error              { return errSketch }
func (s Sketch) ClientClocksReady() error                                         { return s.ClientClocks }
func (s Sketch) ShiftClientClock(int, time.Duration, float64) error               { return errSketch }
func (s Sketch) ClientClockOffset(int) (time.Duration, error)                     { return 0, errSketch }
func (s Sketch) TTL(context.Context, string) (time.Duration, string, error)       { return 0, "", errSketch }
func (s Sketch) Kept(context.Context) (map[string]time.Duration, error)           { return nil, errSketch }
func (s Sketch) Promote(context.Context, string) (string, error)                  { return "", errSketch }
