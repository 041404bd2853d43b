package wasm

import (
	"time"

	"github.com/tetratelabs/wazero/sys"
)

// function is a WASI function and the number of its arguments.
type function struct {
	params int
	do     func(v *Machine, m memory, s []uint64) errno
}

// fromWazero are the WASI functions of wazero, which need only the configuration of the module.
var fromWazero = []string{
	"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "random_get", "sched_yield",
	"fd_prestat_get", "fd_prestat_dir_name", // of the empty directory /
}

// functions are the others, which use the files, sockets and clocks of a [Machine].
var functions = map[string]function{
	"clock_time_get": {3, clockTimeGet},
	"clock_res_get":  {2, func(_ *Machine, m memory, s []uint64) errno { return m.putUint64(ptr(s[1]), 1) }},
	"poll_oneoff":    {4, pollOneoff},
	"proc_exit":      {1, func(_ *Machine, _ memory, s []uint64) errno { panic(sys.NewExitError(ptr(s[0]))) }},

	"path_open":           {9, pathOpen},
	"fd_read":             {4, fdRead},
	"fd_write":            {4, fdWrite},
	"fd_close":            {1, func(v *Machine, _ memory, s []uint64) errno { return v.closeFile(int32(ptr(s[0]))) }},
	"fd_fdstat_get":       {2, fdStatGet},
	"fd_fdstat_set_flags": {2, fdStatSetFlags},
	"fd_filestat_get":     {2, fdFilestatGet},
	"fd_seek":             {4, func(*Machine, memory, []uint64) errno { return errSpipe }},
	"fd_sync":             {1, func(*Machine, memory, []uint64) errno { return errNone }},
	"sock_recv":           {6, sockRecv},
	"sock_send":           {5, sockSend},
	"sock_shutdown":       {2, func(*Machine, memory, []uint64) errno { return errNone }},
}

// The clocks of wasi.
const (
	clockWall   = 0
	clockSteady = 1
)

func clockTimeGet(v *Machine, m memory, s []uint64) errno {
	t, e := v.clock(ptr(s[0]), v.outside.Now())
	if e != errNone {
		return e
	}
	return m.putUint64(ptr(s[2]), uint64(t))
}

// clock returns the time of one of the program's clocks.
func (v *Machine) clock(id uint32, now time.Time) (int64, errno) {
	switch id {
	case clockWall:
		return v.outside.Wall().UnixNano(), errNone
	case clockSteady:
		return v.mono.at(now), errNone
	}
	return 0, errInval
}
