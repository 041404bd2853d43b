// The clock of a client is a minute behind while it takes a lock. time.Moved exists in this build only, see run.sh.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	double := map[bool]bool{}
	for _, px := range []bool{false, true} {
		name := "with its defaults"
		if px {
			name = "with FallbackSETPX"
		}
		holder, other := locker(px), locker(px)
		time.Moved = -60
		held, release, err := holder.TryWithContext(context.Background(), name)
		time.Moved = 0
		if err != nil {
			end("could not try: a free lock was refused: %v", err)
		}
		time.Sleep(time.Second)
		holding := held.Err() == nil
		began := time.Now()
		_, _, err = other.TryWithContext(context.Background(), name)
		if err != nil {
			fmt.Printf("rueidislock %s: a second client is refused\n", name)
			release()
			continue
		}
		double[px] = holding
		<-held.Done()
		fmt.Printf("rueidislock %s: a second client is granted the lock 1 s after the first, whose context is canceled %v later\n",
			name, time.Since(began).Round(100*time.Microsecond))
	}
	switch {
	case double[true]:
		end("could not try: the lock was granted twice with FallbackSETPX, too")
	case double[false]:
		end("exists: the context of a holder was not canceled for 1 s, in which its lock had no key")
	}
	end("gone: a lock has its key although the clock of the client is behind")
}

func locker(px bool) rueidislock.Locker {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:  rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + os.Args[1]}},
		KeyMajority:   1,
		TryNextAfter:  time.Second,
		FallbackSETPX: px,
	})
	if err != nil {
		end("could not try: %v", err)
	}
	return l
}

func end(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(0)
}
