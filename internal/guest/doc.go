// Package guest runs a lock client in its own process, in any language, so that lockbench can pause and kill it like a
// real client.
//
// Host and guest exchange JSON lines over the guest's standard input and output:
//
//	guest  {"hello":"lockbench-guest/1","name":"set-nx","family":"single-store"}
//	host   {"id":1,"op":"open","client":3,"store":{"topology":"single","nodes":[...]}}
//	guest  {"id":1,"ok":true}
//	host   {"id":2,"op":"acquire","session":"3.1","key":"a","ttl_ns":5000000000}
//	guest  {"id":2,"ok":true,"until_ns":4999900000}
//	host   {"id":3,"op":"release","session":"3.1"}
//	guest  {"id":3,"ok":true}
//
// The messages are [Hello], [Request] and [Answer]; docs/guest-protocol.md explains them to authors of guests. [Conn] is
// the host's end. [Serve] is the guest's end for locks written in Go, [Main] is Serve on the process's own standard input
// and output, and [InProcess] connects both ends in one process.
//
// Verdicts depend on the answers of guests, so the package never hides doubt. Only a definite failure (see [Definite])
// means that an operation had no effect. A missing, broken or late answer, or any other error, is an unknown outcome.
package guest
