package locksim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// draw is the state of [Draw].
type draw struct {
	*rand.Rand
	lock  Lock
	unit  time.Duration // leases, pauses and delays are multiples of unit
	leash lease
	keys  []string
	ids   int
	late  bool // requests may arrive after their client has given up
}

// lease determines how long grants last.
type lease uint8

const (
	forever  lease = iota
	asking         // a lease is requested
	renewing       // the library renews it
)

// Draw draws a plan for a lock with the mistake, or for a correct lock.
func Draw(rng *rand.Rand, mistake Mistake) Plan {
	d := &draw{Rand: rng, keys: []string{"a"}}
	d.unit = pick(d, 40*time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second)
	quiet := mistake == NeverWakes || mistake == LeaseLong && d.chance(50) || mistake == RefusesFree && d.chance(30) || d.chance(10)
	if quiet {
		d.unit = min(d.unit, time.Second) // everything else is over when the recovery period begins
	}
	d.lock = Lock{
		Mistake: mistake, Strict: d.chance(60), Watched: d.chance(50), Queue: d.chance(50),
		Until: d.chance(70), TokenStep: 1 + d.IntN(2),
	}
	d.kind()
	d.leases()
	if d.chance(15) && !d.lock.Fenced || mistake == LooksAtOneKey {
		d.keys = []string{"a", "b"}
	}
	d.lock.Fair = d.lock.Queue && d.chance(50)
	d.lock.Careless = mistake == None && d.chance(20) || mistake != None && d.chance(10)
	if d.mistaken(Overtakes, Forgets) {
		d.lock.Queue, d.lock.Fair = true, true
	}
	l := &d.lock
	if d.leash == asking && d.chance(20) {
		l.Drift = d.unit / 10
	}
	l.Upgrades = d.chance(60)
	l.OneOwner = l.Owners && d.chance(10)
	l.Shy = !l.Strict && !quiet && mistake == None && d.chance(20)
	l.NoWaits = d.chance(5) && !l.Queue
	if mistake == AcceptsOld {
		l.Careless = true
	}
	d.late = !quiet && d.chance(60)

	p := Plan{}
	if mistake == NeverWakes {
		d.lock.Queue = true
	}
	calm := d.chance(30) || d.mistaken(Overtakes, Forgets) && d.chance(60)
	clients := 1 + d.IntN(4)
	if mistake != None {
		clients = 2 + d.IntN(3)
	}
	for range clients {
		p.Clients = append(p.Clients, d.script(calm))
	}
	if !calm {
		for range d.IntN(3) {
			p.Faults = append(p.Faults, d.fault(len(p.Clients)))
		}
	}
	if mistake == HandsOverEarly {
		f := d.fault(len(p.Clients))
		f.Kind, f.Client, f.To = Death, 1, 0
		p.Faults = append(p.Faults, f)
		p.Clients[0] = slices.DeleteFunc(p.Clients[0], func(s Step) bool { return s.Do == Release })
	}
	if mistake == LosesAtCrash {
		f := d.fault(len(p.Clients))
		f.Kind, f.Client = Crash, 0
		p.Faults = append(p.Faults, f)
	}
	if quiet {
		d.quiet(&p)
	} else if d.chance(15) {
		p.Lines = 2 + d.IntN(60)
	}
	p.Lock = d.lock
	return p
}

// mistaken reports whether the mistake of the lock is one of these.
func (d *draw) mistaken(mistakes ...Mistake) bool { return slices.Contains(mistakes, d.lock.Mistake) }

func (d *draw) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *draw, from ...T) T { return from[d.IntN(len(from))] }

// kind chooses the model and the keys so that the mistake is possible.
func (d *draw) kind() {
	l := &d.lock
	kinds := []string{"mutex", "mutex", "fenced", "owners", "reentrant", "reentrant", "reentrant fenced", "rw", "rw owners", "rw reentrant"}
	switch l.Mistake {
	case TokenFalls, TokenRepeats:
		kinds = []string{"fenced", "fenced", "reentrant fenced"}
	case InnerReleases, InnerShortens:
		kinds = []string{"reentrant", "reentrant fenced", "rw reentrant"}
	case WriterJoins, ReaderJoins:
		kinds = []string{"rw", "rw owners", "rw reentrant"}
	case AcceptsOld:
		kinds = []string{"fenced", "fenced", "reentrant fenced"}
	case Overtakes, Forgets, NeverWakes:
		kinds = []string{"mutex", "mutex", "fenced", "reentrant"}
	case LooksAtOneKey:
		kinds = []string{"mutex", "reentrant", "rw"}
	}
	switch pick(d, kinds...) {
	case "mutex":
		l.Model = []string{"mutex"}
	case "fenced":
		l.Model, l.Fenced = []string{"mutex", "fenced"}, true
	case "owners": // the lock refuses an owner that holds
		l.Model, l.Owners = []string{"mutex"}, true
	case "reentrant":
		l.Model, l.Owners, l.Enters = []string{"mutex", "reentrant"}, true, true
	case "reentrant fenced":
		l.Model, l.Owners, l.Enters, l.Fenced = []string{"mutex", "reentrant", "fenced"}, true, true, true
	case "rw":
		l.Model = []string{"rw"}
	case "rw owners": // a writer may also read, and become a reader
		l.Model, l.Owners, l.Enters = []string{"rw"}, true, true
	case "rw reentrant":
		l.Model, l.Owners, l.Enters = []string{"rw", "reentrant"}, true, true
	}
}

func (d *draw) leases() {
	l := &d.lock
	kinds := []lease{forever, asking, asking, asking, renewing}
	switch l.Mistake {
	case LeaseShort, RenewsNothing, RenewsAnew, RenewsNot, InnerShortens, HandsOverEarly, NeverWakes, LeaseLong, AcceptsOld:
		kinds = []lease{asking}
	}
	switch d.leash = pick(d, kinds...); d.leash {
	case forever:
		l.Unlinked = true
	case asking:
		if d.chance(30) {
			l.Linger = d.some(d.unit)
		}
	case renewing:
		l.Renewed = max(300*time.Millisecond, d.unit)
	}
}

// some draws a time about as long as the unit, or much shorter.
func (d *draw) some(unit time.Duration) time.Duration {
	return pick(d, 0, time.Millisecond, 2*time.Millisecond, unit/20, unit/10, unit/3, unit/2, unit, unit+2*time.Millisecond, unit*3/2).Round(time.Millisecond)
}

func (d *draw) ttl() time.Duration {
	if d.leash != asking {
		return 0
	}
	if d.mistaken(HandsOverEarly) {
		return 5 * d.unit
	}
	return pick(d, d.unit, d.unit, d.unit, 2*d.unit, 5*d.unit, d.unit/2)
}

// fate draws the fate of a request.
func (d *draw) fate(calm bool) Fate {
	f := Fate{There: time.Millisecond, Back: time.Millisecond, Wrong: d.chance(40)}
	f.Patience = max(10*time.Millisecond, pick(d, d.unit/4, d.unit/2, d.unit*2))
	if d.lock.Renewed > 0 { // the answer must arrive before the first renewal is due
		f.Patience = pick(d, d.lock.Renewed/10, d.lock.Renewed/5)
	}
	switch {
	case calm && d.chance(90):
		return f
	case d.chance(70):
		f.There, f.Back = d.short(), d.short()
	case d.late:
		f.There, f.Back = d.some(d.unit), d.some(d.unit)
		if d.chance(20) {
			f.There *= 3
		}
	default:
		f.There, f.Back = d.some(f.Patience/2), d.some(f.Patience/2)
	}
	f.There = max(f.There, time.Millisecond) // otherwise a lease would end exactly when its client expects it
	f.LoseThere, f.LoseBack = d.chance(6), d.chance(10)
	if !d.late {
		f.There = min(f.There, f.Patience)
	}
	if d.lock.Renewed > 0 {
		f.Back = min(f.Back, d.lock.Renewed/10)
	}
	return f
}

func (d *draw) short() time.Duration { return time.Duration(d.IntN(4)) * time.Millisecond }

// script draws the steps of one client.
func (d *draw) script(calm bool) Script {
	var script Script
	for range 1 + d.IntN(3) {
		a := d.acquire(calm)
		script = append(script, a)
		script = append(script, d.hold(a, calm, 0)...)
	}
	return script
}

func (d *draw) acquire(calm bool) Step {
	d.ids++
	a := Step{ID: d.ids, Do: Acquire, After: d.some(d.unit), TTL: d.ttl(), Fate: d.fate(calm), Keys: d.keys[:1]}
	if len(d.keys) > 1 {
		a.Keys = pick(d, []string{"a"}, []string{"b"}, []string{"a", "b"}, []string{"b", "a"})
	}
	if d.mistaken(LooksAtOneKey) && d.chance(60) {
		a.Keys = pick(d, []string{"a", "b"}, []string{"b", "a"})
	}
	if d.lock.Model[0] == "rw" {
		a.Shared = d.chance(50)
	}
	if d.chance(40) {
		a.Wait = pick(d, d.unit/2, d.unit, 3*d.unit)
	}
	if d.chance(30) || d.lock.Mistake == LeaseShort || d.lock.Mistake == LeaseLong {
		a.Look = time.Millisecond + d.short()
	}
	if d.mistaken(Overtakes, Forgets) {
		a.Wait, a.After = 3*d.unit, d.short()
	}
	if d.lock.Queue && a.Wait > 0 && d.chance(60) {
		a.Seen = time.Millisecond + d.short()
	}
	return a
}

// hold draws the steps under an acquire, including inner holds.
func (d *draw) hold(a Step, calm bool, depth int) []Step {
	var steps []Step
	add := func(do Verb, aside int) {
		s := Step{Do: do, Of: a.ID, After: d.some(d.unit), Aside: d.chance(aside), Fate: d.fate(calm), TTL: d.ttl(), Fenced: d.chance(50) || d.lock.Careless}
		if d.chance(50) {
			s.After = d.short()
		}
		steps = append(steps, s)
	}
	for range d.IntN(4) {
		switch n := d.IntN(100); {
		case n < 20:
			add(Check, 20)
		case n < 50:
			add(Touch, 0)
		case n < 70 && d.leash == asking:
			add(Renew, 25)
		case n < 85 && depth == 0 && d.lock.Owners, depth == 0 && d.mistaken(InnerReleases, InnerShortens):
			inner := d.acquire(calm)
			inner.Aside = d.chance(15)
			steps = append(steps, inner)
			steps = append(steps, d.hold(inner, calm, depth+1)...)
		case n < 87:
			add(Alarm, 0)
		case n < 90:
			add(LetGo, 0)
		case n < 93: // before the end of the lease, or without waiting
			add(Release, 50)
		}
	}
	if d.mistaken(RenewsNothing, RenewsAnew, RenewsNot) {
		add(Renew, 20)
		if d.chance(50) {
			steps[len(steps)-1].After = d.unit + d.some(d.unit)
		}
		add(pick(d, Touch, Check, Renew), 0)
	}
	if d.lock.Careless && d.leash != forever { // works, sleeps, and works again
		add(Touch, 0)
		add(Touch, 0)
		steps[len(steps)-1].After = d.unit + d.some(d.unit)
	}
	if d.lock.Mistake == LibraryLetsGo {
		add(LetGo, 0)
		add(Touch, 0)
	}
	switch n := d.IntN(100); {
	case n < 10: // never releases
	case n < 60:
		add(Release, 5)
	case n < 90: // releases again, because the outcome may be unknown
		add(Release, 15)
		add(Release, 0)
	default:
		add(Release, 0)
		if d.leash == asking && d.chance(50) {
			add(Renew, 0)
		} else {
			add(Check, 0)
		}
		add(Release, 0)
	}
	return steps
}

func (d *draw) fault(clients int) Fault {
	f := Fault{
		Kind: pick(d, Pause, Pause, Cut, Crash, Death), Client: 1 + d.IntN(clients),
		From: d.some(d.unit) + d.some(d.unit) + d.some(d.unit), Lag: d.short(),
	}
	length := d.some(d.unit)
	if l := d.lock.Renewed; l > 0 && d.chance(50) {
		length = pick(d, l/3, l*2/3-20*time.Millisecond, l*2/3+100*time.Millisecond, 2*l)
	}
	f.To = f.From + length + time.Millisecond
	switch {
	case f.Kind == Cut && d.chance(50), f.Kind == Crash:
		f.Client = 0
	case f.Kind == Death:
		f.To = 0 // the notice comes when the loss is seen
		if d.chance(50) {
			f.To = f.From + d.short()
		}
	}
	return f
}

// quiet adds a recovery period: one client holds, a second one waits for the lock, and then a third one tries again and
// again.
func (d *draw) quiet(p *Plan) {
	begins := 60 * time.Second
	ttl := d.ttl()
	if ttl > 0 {
		ttl = pick(d, 2*time.Second, 5*time.Second)
	}
	calm := Fate{There: time.Millisecond, Back: time.Millisecond, Patience: 100 * time.Millisecond, Wrong: d.chance(70)}
	step := func(s Step) Step { // each client has one step
		s.Keys, s.Fate = d.keys[:1], calm
		return s
	}
	d.ids += 2
	holds, waits := d.ids-1, d.ids
	p.Clients = append(p.Clients, Script{
		step(Step{ID: holds, Do: Acquire, After: begins + 100*time.Millisecond, TTL: ttl}),
		step(Step{Do: Release, Of: holds, After: 200 * time.Millisecond}),
	}, Script{
		step(Step{ID: waits, Do: Acquire, After: begins + 200*time.Millisecond, TTL: ttl, Wait: 8 * time.Second}),
		step(Step{Do: Release, Of: waits, After: 10 * time.Millisecond}),
	})
	var tries Script
	for i := range 7 {
		d.ids++
		s := step(Step{ID: d.ids, Do: Acquire, After: 250 * time.Millisecond, TTL: ttl})
		if i == 0 {
			s.After = begins + 15*time.Second
		}
		tries = append(tries, s, step(Step{Do: Release, Of: d.ids, After: time.Millisecond}))
	}
	p.Clients = append(p.Clients, tries)
	p.Quiet = Quiet{Begins: begins, Ends: begins + 25*time.Second}
}
