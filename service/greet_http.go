package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// GreetHTTP implements [Servers.Greet] for servers of HTTP/1.1. It sends a complete request as often
// as needed to carry the load.
func GreetHTTP(ctx context.Context, c net.Conn, request string, load int) error {
	return Interrupt(ctx, c, func() error { return greetHTTP(c, request, 1+load/len(request)) })
}

// greetHTTP writes and reads at the same time: servers stop reading while their answers are not read.
func greetHTTP(c net.Conn, request string, times int) error {
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, strings.Repeat(request, times))
		wrote <- err
	}()
	answers := bufio.NewReader(c)
	for range times {
		said, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, said.Body)
		said.Body.Close()
		if err == nil && said.StatusCode != http.StatusOK {
			err = fmt.Errorf("it answered %s", said.Status)
		}
		if err != nil {
			return err
		}
	}
	return <-wrote
}
