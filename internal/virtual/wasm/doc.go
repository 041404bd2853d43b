// Package wasm runs programs compiled to WebAssembly (WASI preview 1), with one machine for each client, and
// provides their whole environment: both clocks, randomness, sockets, standard input and output.
//
//	Load ──▶ Module ──Start──▶ Machine ── Run: until it waits
//	                                   ── Feed: its input
//	                                   ── Deadline: the latest end of its wait
//
// Run returns when the program waits, in poll_oneoff or in a blocking read. So the caller decides the time and
// the order in which several machines run, and nothing depends on the computer. A machine that is not run is
// stopped, including its timers.
//
// A machine belongs to one goroutine at a time. Machines of one module may run concurrently.
package wasm
