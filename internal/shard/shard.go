// Package shard splits a list of work over machines: the I-th of N shards takes each N-th piece. Campaigns and searches
// for seeds use it.
package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is the I-th of N shards, from 1. The zero value is the whole list.
type Shard struct {
	I int `json:"i"`
	N int `json:"n"`
}

// Parse parses I/N.
func Parse(text string) (Shard, error) {
	a, b, _ := strings.Cut(text, "/")
	i, errI := strconv.Atoi(a)
	n, errN := strconv.Atoi(b)
	if errI != nil || errN != nil || i < 1 || n < 1 || i > n {
		return Shard{}, fmt.Errorf("%q is not a shard; write I/N with 1 <= I <= N, such as 3/8", text)
	}
	return Shard{i, n}, nil
}

// String returns I/N.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// Has reports whether a piece, counted from 0, belongs to the shard.
func (s Shard) Has(piece int) bool { return s.N == 0 || piece%s.N == s.I-1 }

// Place returns the index in the whole list of a piece of the shard.
func (s Shard) Place(piece int) int { return piece*max(s.N, 1) + max(s.I, 1) - 1 }

// Gather collects the numbers of the shards that exist.
type Gather map[int]bool

// Add returns an error for a repeated shard.
func (g Gather) Add(s Shard) error {
	if g[s.I] {
		return fmt.Errorf("shard %d of %d is given twice", s.I, s.N)
	}
	g[s.I] = true
	return nil
}

// Missing returns the numbers of the missing shards of n.
func (g Gather) Missing(n int) []int {
	var missing []int
	for i := 1; i <= n; i++ {
		if !g[i] {
			missing = append(missing, i)
		}
	}
	return missing
}

// Folder returns the name of a shard's folder: 3-of-8, or 03-of-12, so that names sort.
func (s Shard) Folder() string { return fmt.Sprintf("%0*d-of-%d", len(strconv.Itoa(s.N)), s.I, s.N) }
