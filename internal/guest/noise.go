package guest

import "sync"

// Noise is output of a guest that is not part of the protocol.
type Noise struct {
	Lines  int
	First  string // the first line, shortened
	Advice string // the problem with the first line and the remedy
}

// noises collects the noise of one guest.
type noises struct {
	o *ConnOptions

	mu     sync.Mutex
	noise  Noise
	warned map[string]bool
}

// stray counts and logs a line that is not part of the protocol, and warns about the first of each kind.
func (n *noises) stray(kind string, line []byte, advice string) {
	n.mu.Lock()
	line = n.masked(line)
	text, warning := clip(line), n.o.Mask.Text(advice)+": "+quoted(line)
	if n.noise.Lines++; n.noise.Lines == 1 {
		n.noise.First, n.noise.Advice = text, warning
	}
	first := !n.warned[kind]
	n.warned[kind] = true
	n.mu.Unlock()
	n.o.Noise(text)
	if first {
		n.o.Warn(warning)
	}
}

// masked masks a line before it is shortened, which might leave the beginning of a secret.
func (n *noises) masked(line []byte) []byte { return []byte(n.o.Mask.Text(string(line))) }

func (n *noises) heard() Noise {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.noise
}
