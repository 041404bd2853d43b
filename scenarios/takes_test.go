package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// The types of a scenario's keys, in addition to those of faults.
const (
	takesVersion     = Version
	takesBugs        = "list of ids"
	takesPoint       = "point"
	takesLocks       = "list of locks"
	takesTopologies  = "topology of each family"
	takesSingleStore = "topology"
	takesMajority    = "independent, or {independent: number}"
	takesSettings    = "settings"
	takesServers     = "servers of each service"
	takesWorkload    = "workload"
	takesSteps       = "list of steps, none or random"
	takesExpectation = "expectation of each lock"
	takesLock        = "lock"
	takesMoment      = "moment"
	takesVerdict     = "verdict"
	takesRate        = "share or range of shares"
	takesLimits      = "duration of each figure"
	takesTarget      = "role or link"
)

// scenarioKeys are the keys at the top.
func scenarioKeys() []nemesis.Key {
	keys := keysIn(*defaults())
	for i, k := range keys {
		keys[i].Needed = k.Name == "locks" || k.Name == "faults"
	}
	first := services.All()[0].Name
	servers := []nemesis.Key{{Name: "topology", Takes: takesTopologies, About: "what the servers of each family of locks form, short for servers: {" + first + ": {topology: ...}}"}}
	servers = append(servers, nemesis.Key{Name: first, Takes: takesSettings,
		About: "settings of its servers, short for servers: {" + first + ": {settings: ...}}; lockbench list settings has them"})
	servers = append(servers, nemesis.Key{Name: "servers", Takes: takesServers, About: "topology and settings by the names of lock services"})
	after := 1 + slices.IndexFunc(keys, func(k nemesis.Key) bool { return k.Name == "locks" })
	keys = slices.Insert(keys, after, servers...)
	return slices.Concat(
		[]nemesis.Key{{Name: "lockbench", Takes: takesVersion, Needed: true, About: "says that this is a scenario, and how it is to be read"}}, keys,
		[]nemesis.Key{{Name: "expect", Takes: takesExpectation, Default: "valid", About: "what is expected of each lock, by its name"}})
}

func topologyKeys() []nemesis.Key {
	t := defaultServers().Topology
	return []nemesis.Key{
		{Name: string(locks.SingleStore), Takes: takesSingleStore, Default: string(t.SingleStore),
			About: "what locks on a single store get: " + strings.Join(names(singleStores(services.All()[0]), plain), ", ")},
		{Name: string(locks.Majority), Takes: takesMajority, Default: fmt.Sprintf("{%s: %d}", t.Majority, t.Masters), About: "how many masters locks on a majority get"},
	}
}

func lockKeys() []nemesis.Key {
	return append([]nemesis.Key{
		{Name: "use", Takes: takesLock, About: "a lock of lockbench list locks; lockbench list locks LOCK prints its options, which are keys here as well"},
		{Name: "cmd", Takes: nemesis.TakesText, About: "the command of a lock of your own, instead of use"},
		{Name: "as", Takes: nemesis.TakesText, About: "how the lock is called in this scenario; a command needs it"},
	}, keysIn(LockUse{})...)
}

// keysIn returns the keys of a struct's fields with the descriptions in their tags. The values of the fields are the defaults.
func keysIn(v any) []nemesis.Key {
	var keys []nemesis.Key
	s := reflect.ValueOf(v)
	for i := range s.NumField() {
		field := s.Type().Field(i)
		if name, ok := field.Tag.Lookup("yaml"); ok {
			takes, usual := described(s.Field(i).Interface())
			keys = append(keys, nemesis.Key{Name: name, Takes: takes, Default: usual, About: field.Tag.Get("about")})
		}
	}
	return keys
}

// described describes the values of a field and its default.
func described(v any) (takes, holds string) {
	switch v := v.(type) {
	case string:
		return nemesis.TakesText, v
	case int:
		if v > 0 {
			holds = fmt.Sprint(v)
		}
		return nemesis.TakesNumber, holds
	case time.Duration:
		return nemesis.TakesDuration, v.String()
	case *time.Duration:
		return nemesis.TakesDuration, ""
	case nemesis.Range:
		return nemesis.TakesRange, v.String()
	case *nemesis.Length:
		return nemesis.TakesLength, ""
	case *nemesis.Range:
		return nemesis.TakesRange, ""
	case workloads.Event:
		return takesMoment, ""
	case nemesis.Until:
		return string(nemesis.UntilHealed) + "|" + string(nemesis.UntilPromoted), ""
	case Point:
		return takesPoint, string(v)
	case KeyNames:
		return string(Letters) + "|" + string(Varied), string(v)
	case *locks.Mode:
		return locks.Exclusive.String() + "|" + locks.Shared.String(), ""
	case *Rate:
		return takesRate, ""
	case []string:
		return takesBugs, ""
	case map[string]string:
		return takesSettings, ""
	case Workload:
		return takesWorkload, v.Name
	case []LockUse:
		return takesLocks, ""
	case []nemesis.Step:
		return takesSteps, ""
	case Judgement:
		return takesVerdict, ""
	case map[string]time.Duration:
		return takesLimits, ""
	case Topology:
		return takesTopologies, ""
	}
	panic(fmt.Sprintf("no text about what a %T takes", v))
}
