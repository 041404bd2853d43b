package site

import (
	"net/http"
	"time"
)

// newsEvery is how often the folder is looked through while somebody has the list open.
const newsEvery = 3 * time.Second

// news tells a browser that has the list open when there are other runs than it shows.
func (s *Site) news(w http.ResponseWriter, r *http.Request) {
	out := newStream(w)
	tick := time.NewTicker(newsEvery)
	defer tick.Stop()
	type told struct {
		Runs int `json:"runs"`
		Live int `json:"live"`
	}
	last := told{-1, -1}
	for {
		shelf, err := s.look()
		if err != nil {
			return
		}
		now := told{Runs: shelf.Runs()}
		for _, l := range s.underWay(shelf) {
			if !l.Gone {
				now.Live++
			}
		}
		if now != last {
			out.send("news", now)
			last = now
		}
		if out.err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
