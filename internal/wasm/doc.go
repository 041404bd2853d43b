// Package wasm runs programs that were compiled to WebAssembly (WASI preview 1), one
// machine for each client, and gives them all that they know of the world: both clocks,
// chance, sockets, standard input and output.
//
//	Load ──▶ Module ──Start──▶ Machine ── Run: until it waits
//	                                   ── Feed: what it reads
//	                                   ── Deadline: when its wait ends at the latest
//
// A machine runs when its caller says so and returns when it has nothing to do but wait, in
// poll_oneoff or in a blocking read. So its caller decides what time it is
// and in which order several go on: nothing that a program does depends on the machine
// that it runs on. A machine that is not run stands still, timers and all.
//
// A machine belongs to one goroutine at a time. Several of one module may be used side
// by side.
package wasm
