// Package nemesis injects faults, one fault per file, by a plan that depends only on the seed.
//
// The entries of [All] create a [Fault] from a [Step] of a scenario. [Fault.Available] reports
// whether it applies to a cluster. [Fault.Inject] resolves the step's roles to nodes and clients,
// announces them with [Scene.Begin], acts, and returns when a probe on the affected paths has seen
// the fault take effect. The undo that it returns likewise waits until a probe has seen the fault
// gone.
//
// [Draw] makes a [Plan] of a scenario's steps, and a [Runner] carries out one episode of it and
// always heals. The smallest lasting fault is in drop_replies.go; read it first.
//
// The Go API that lockbench keeps stable is in lockbench, lockbench/locks and lockbench/locks/locktest.
// This package is not part of it.
package nemesis

import (
	"context"
	"math/rand/v2"

	"lockbench/internal/world"
	"lockbench/workloads"
)

// Fault is something that can be done to a cluster.
type Fault struct {
	// Text is the text of the plan: "kill master, data lost".
	Text string
	// Effects are the effects on clients and servers, such as history.EffectDelays. The checkers
	// excuse a lock by them.
	Effects []string
	// Available returns nil, or the reason why the fault does not apply to this cluster.
	Available func(c world.Sketch) error
	// Inject returns when the fault is in effect.
	Inject func(ctx context.Context, s Scene) (Undo, error)
	// Prepare changes the spec before the servers are started. It may be nil.
	Prepare func(s *world.Spec)
	// HoldsRequest reports that a step with a request holds it on its way to the server, and not
	// the reply.
	HoldsRequest bool
}

// String returns the text of the plan.
func (f Fault) String() string { return f.Text }

// Undo undoes a fault and returns when a probe has seen it gone. Calling it twice is harmless.
type Undo func(context.Context) error

// Nothing is the undo of a fault that ends by itself.
func Nothing(context.Context) error { return nil }

// Scene is the cluster and its state when a fault is injected.
type Scene struct {
	Cluster world.Cluster
	Crew    Crew
	// Moment is the event that triggered the fault; nil if it started at a time.
	Moment *workloads.Moment
	Rand   *rand.Rand
	// Begin announces the targets, by name and in words.
	Begin func(targets []string, text string)
	// Add adds words to those of Begin, for the events that follow. Nil: nothing records them.
	Add func(text string)
	// held is the request or reply that the trigger holds; nil if the step has no request.
	held *onItsWay
	// claims are those of all faults of the run.
	claims *claims
}

// Crew is the run's knowledge of its clients and control over them.
type Crew interface {
	// Clients returns the numbers of the open clients, in ascending order.
	Clients() []int
	// Holders returns the holds that clients believe to have, the oldest first. The event of one
	// that is being released is Releasing.
	Holders() []workloads.Moment
	// Waiters returns the clients whose last attempt was refused or is running, in ascending order.
	Waiters() []int
	// Keys returns the keys of the locks, in the order of their use.
	Keys() []string
	Pause(ctx context.Context, client int) error
	Resume(ctx context.Context, client int) error
	// Kill ends a client; another one with a new number replaces it.
	Kill(ctx context.Context, client int) error
}
