package trial

import (
	"os"
	"strings"
	"testing"
	"time"

	"lockbench/internal/testing/trialtest"
	"lockbench/scenarios"
)

func TestMain(m *testing.M) { trialtest.Main(m, nil) }

// A full disk stops the run with an error that names the file.
func TestFullDisk(t *testing.T) {
	w := trialtest.LocalWorld(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err) // exists on Linux, where world local runs
	}
	s := trialtest.Load(t, trialtest.Quietly)
	sub, err := NewSubject(NewInput(s, scenarios.LockUse{Name: "in-process", Use: "in-process"}, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	sub.Spec.LogDir = t.TempDir()
	trial := &Trial{
		Subject: sub, World: w, History: full, Log: func(line string) { t.Log(line) },
		Started: time.Now(),
	}
	err = trial.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("error %v; want one that names the file", err)
	}
}
