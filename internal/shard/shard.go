// Package shard splits a list of work over machines: of N parts the I-th takes each
// N-th piece. What a campaign and what a search for seeds split is the same.
package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is the I-th of N parts, from 1. The zero value is the whole.
type Shard struct {
	I int `json:"i"`
	N int `json:"n"`
}

// Parse reads I/N.
func Parse(text string) (Shard, error) {
	a, b, _ := strings.Cut(text, "/")
	i, errI := strconv.Atoi(a)
	n, errN := strconv.Atoi(b)
	if errI != nil || errN != nil || i < 1 || n < 1 || i > n {
		return Shard{}, fmt.Errorf("%q is no part; write I/N with 1 <= I <= N, such as 3/8", text)
	}
	return Shard{i, n}, nil
}

// String is I/N.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// Has tells whether a piece, counted from 0, belongs to the part.
func (s Shard) Has(piece int) bool { return s.N == 0 || piece%s.N == s.I-1 }

// Place is where in the whole the part's own piece stands.
func (s Shard) Place(piece int) int { return piece*max(s.N, 1) + max(s.I, 1) - 1 }

// Gather takes note of the parts of one whole that are there, by their numbers.
type Gather map[int]bool

// Add refuses a part that is there already: it would count twice.
func (g Gather) Add(s Shard) error {
	if g[s.I] {
		return fmt.Errorf("shard %d of %d is there twice, and would count twice", s.I, s.N)
	}
	g[s.I] = true
	return nil
}

// Missing are the numbers of the parts of n that are not there.
func (g Gather) Missing(n int) []int {
	var missing []int
	for i := 1; i <= n; i++ {
		if !g[i] {
			missing = append(missing, i)
		}
	}
	return missing
}

// Folder is the name of the folder of a shard: 3-of-8, or 03-of-12, so that names sort.
func (s Shard) Folder() string { return fmt.Sprintf("%0*d-of-%d", len(strconv.Itoa(s.N)), s.I, s.N) }
