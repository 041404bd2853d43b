package shard

import (
	"slices"
	"testing"
)

// Shards have each piece exactly once, and Place returns its index.
func TestPartsAreTheWhole(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var all []int
		for i := 1; i <= n; i++ {
			s, mine := Shard{i, n}, 0
			for piece := range 20 {
				if !s.Has(piece) {
					continue
				}
				if s.Place(mine) != piece {
					t.Errorf("piece %d of shard %s is said to be at %d", piece, s, s.Place(mine))
				}
				mine++
				all = append(all, piece)
			}
		}
		slices.Sort(all)
		if len(all) != 20 || len(slices.Compact(all)) != 20 {
			t.Errorf("%d parts of 20 pieces have %v", n, all)
		}
	}
	if whole := (Shard{}); !whole.Has(7) || whole.Place(7) != 7 {
		t.Error("the whole lacks something")
	}
}

func TestParse(t *testing.T) {
	if s, err := Parse("3/8"); err != nil || s != (Shard{3, 8}) || s.String() != "3/8" {
		t.Errorf("3/8 is %v, %v", s, err)
	}
	for _, text := range []string{"", "3", "0/2", "4/3", "a/b", "1/2/3", "-1/2"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}

func TestGather(t *testing.T) {
	g := Gather{}
	for _, i := range []int{3, 1} {
		if err := g.Add(Shard{i, 4}); err != nil {
			t.Error(err)
		}
	}
	if missing := g.Missing(4); !slices.Equal(missing, []int{2, 4}) {
		t.Errorf("missing %v", missing)
	}
	if g.Add(Shard{1, 4}) == nil {
		t.Error("one part counts twice")
	}
}
