//go:build !wasip1

package servers

import (
	"flag"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// serveNATS is what the command nats-server does.
func serveNATS(words []string) {
	flags := flag.NewFlagSet("nats-server", flag.ExitOnError)
	options, err := server.ConfigureOptions(flags, words, server.PrintServerAndExit, flags.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("nats-server: %s", err))
	}
	s, err := server.NewServer(options)
	if err != nil {
		server.PrintAndDie(fmt.Sprintf("nats-server: %s", err))
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		server.PrintAndDie(err.Error())
	}
	s.WaitForShutdown()
}
