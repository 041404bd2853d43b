package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
)

// It serves from the line that says where, until it is told to end.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	root := newRoot()
	root.SetOut(in)
	root.SetArgs([]string{"serve", t.TempDir(), "--listen", "127.0.0.1:0"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatalf("after %q: %v", line, err)
	}
	_ = answer.Body.Close()
	// A page that waits for news does not keep the command from ending.
	news, err := http.Get(url + "~/news")
	if err != nil {
		t.Fatal(err)
	}
	defer news.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusOK || news.StatusCode != http.StatusOK {
		t.Errorf("it answers %s and %s", answer.Status, news.Status)
	}
}
