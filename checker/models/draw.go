package models

import (
	"errors"
	"io"

	"github.com/anishathalye/porcupine"
)

// Mark is something to show beside the operations: a fault, the end of a lease.
type Mark struct {
	Lane     string // the line it stands on, which is not a client's
	From, To int    // events, by their place in the list that was searched
	Text     string
	Details  string
	Fault    bool // shown as trouble rather than as news
}

// Draw writes a page that shows the operations, how far they can be explained, and
// where no order goes on. The page needs nothing but a browser.
func Draw(w io.Writer, m porcupine.Model, r Result, marks []Mark) error {
	if r.Exhausted != "" {
		return errors.New("draw: the search ended before it knew; draw fewer operations")
	}
	info := r.info
	for _, mark := range marks {
		a := porcupine.Annotation{Tag: mark.Lane, Start: int64(mark.From), End: int64(mark.To), Description: mark.Text, Details: mark.Details,
			BackgroundColor: "#dfe7ef", TextColor: "#1f2d3d"}
		if mark.Fault {
			a.BackgroundColor, a.TextColor = "#f4c7c3", "#5f1410"
		}
		info.AddAnnotations([]porcupine.Annotation{a})
	}
	return porcupine.Visualize(m, info, w)
}
