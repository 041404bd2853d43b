package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// browserWait is how long to wait for a browser to fail. If it succeeds, it may run until its window is closed.
const browserWait = 3 * time.Second

// browsers returns the commands that show a page on this system, the usual one first.
func browsers() [][]string {
	switch runtime.GOOS {
	case "darwin":
		return [][]string{{"open"}}
	case "windows":
		return [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	}
	return [][]string{{"xdg-open"}, {"chromium"}, {"google-chrome"}, {"firefox"}}
}

// openPage shows a file in the user's browser.
func openPage(path string) error {
	var tried []string
	for _, command := range browsers() {
		program, err := exec.LookPath(command[0])
		if err != nil {
			continue
		}
		tried = append(tried, command[0])
		show := exec.Command(program, append(command[1:], path)...)
		if show.Start() != nil {
			continue
		}
		ended := make(chan error, 1)
		go func() { ended <- show.Wait() }()
		select {
		case err := <-ended:
			if err == nil {
				return nil
			}
		case <-time.After(browserWait):
			return nil
		}
	}
	if len(tried) == 0 {
		return errors.New("no browser is on PATH")
	}
	return fmt.Errorf("no browser could show the page (tried %s)", strings.Join(tried, ", "))
}
