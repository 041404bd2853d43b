// Package guest lets a lock client live in a process of its own, written in any
// language, so that it can be stopped, continued and killed like a real one.
//
// Host and guest speak JSON lines over the guest's standard input and output:
//
//	guest  {"hello":"lockbench-guest/1","name":"set-nx","family":"single-store"}
//	host   {"id":1,"op":"open","client":3,"store":{"topology":"single","nodes":[...]}}
//	guest  {"id":1,"ok":true}
//	host   {"id":2,"op":"acquire","session":"3.1","key":"a","ttl_ns":5000000000}
//	guest  {"id":2,"ok":true,"until_ns":4999900000}
//	host   {"id":3,"op":"release","session":"3.1"}
//	guest  {"id":3,"ok":true}
//
// The messages are [Hello], [Request] and [Answer]; docs/guest-protocol.md
// explains them to authors of guests. [Conn] is the host's end. [Serve] is the
// guest's end for locks written in Go, [Main] is Serve on the process's own
// standard input and output, and [InProcess] joins both ends in one process.
//
// A host judges what guests answer, so the rule that governs this package is that
// doubt is never hidden: only the closed list of definite failures ([Definite])
// says that something did not happen; a missing, broken or late answer, and every
// other error, is an unknown outcome.
package guest
