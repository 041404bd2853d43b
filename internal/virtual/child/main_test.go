package child

import (
	"testing"

	"lockbench/internal/testing/trialtest"
)

func TestMain(m *testing.M) { trialtest.Main(m, map[string]func() int{"dozers": serveDozers}) }
