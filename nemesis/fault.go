// Package nemesis breaks things, one fault a file, on a plan that the seed decides.
//
// A [Fault] is made from a [Step] of a scenario by its entry in [All]. It says
// whether it can concern a cluster at all ([Fault.Available]), and [Fault.Inject]
// does it: resolves the roles that the step names to nodes and clients as they
// are at that moment, announces them with [Scene.Begin], acts, and returns only
// when a probe on the path of those concerned has seen the fault bite. What it
// returns undoes it, and in turn returns when a probe has seen it gone.
//
// [Draw] makes a [Plan] of a scenario's steps, and a [Runner] carries one
// episode of it out and always heals. The smallest lasting fault is [DropReplies]; read it first.
package nemesis

import (
	"context"
	"math/rand/v2"

	"lockbench/internal/world"
	"lockbench/workloads"
)

// Fault is one thing that can be done to a cluster.
type Fault interface {
	// String is what the plan prints: "kill master, data lost".
	String() string
	// Effect is what the fault does to clients and servers, in the words of package history, such as
	// history.EffectDelays. The judge excuses a lock by it.
	Effect() []string
	// Available is nil, or the reason why the fault cannot concern this cluster.
	Available(c world.Cluster) error
	// Inject returns when the fault is in effect.
	Inject(ctx context.Context, s Scene) (Undo, error)
}

// Preparer is a fault that must be known of before the servers are started.
type Preparer interface{ Prepare(s *world.Spec) }

// Undo takes a fault back and returns when that is seen to have worked. Undoing
// twice is harmless.
type Undo func(context.Context) error

// Nothing is the undo of a fault that ends by itself.
func Nothing(context.Context) error { return nil }

// Scene is the cluster, and what is known at the moment at which a fault strikes.
type Scene struct {
	Cluster world.Cluster
	Crew    Crew
	// Moment is what set the fault off; nil if it started at a time.
	Moment *workloads.Moment
	Rand   *rand.Rand
	// Begin announces what is about to be struck: its names, and in words.
	Begin func(targets []string, text string)
	// held is what the client of the moment waits for in the middle of an operation; nil if
	// the step has no request.
	held *onItsWay
	// grips are those of all faults of the run.
	grips *grips
}

// Crew is what the run knows of its clients and can do to them.
type Crew interface {
	// Clients are the numbers of those that are open, in ascending order.
	Clients() []int
	// Holders are the tenures that clients take themselves to have, the oldest first; the
	// event of one that is being given back is Releasing.
	Holders() []workloads.Moment
	// Waiters are the clients whose last try was refused or goes on, in ascending order.
	Waiters() []int
	Pause(ctx context.Context, client int) error
	Resume(ctx context.Context, client int) error
	// Kill ends a client; another one, with a new number, takes its place.
	Kill(ctx context.Context, client int) error
}
