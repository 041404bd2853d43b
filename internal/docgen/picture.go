package main

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/questions"
)

// palette has the colors of a theme. The color of a cell depends on the class of its outcome, and a cell without a result has
// stripes.
type palette struct {
	ground, text, stripe string
	cells                map[string]string
}

var (
	light = palette{"#f6f8fa", "#1f2328", "#ccd3da", map[string]string{
		"held": "#b4e3c3", "twice": "#f28b82", "stale": "#f8b26a", "over": "#f6e08a", "other": "#d3b8f5", "open": "#d5dae1",
	}}
	dark = palette{"#161b22", "#eef2f6", "#363e48", map[string]string{
		"held": "#1d5636", "twice": "#a32a24", "stale": "#8a4b0f", "over": "#635608", "other": "#5a3a94", "open": "#4a525c",
	}}
)

// css has the colors as rules.
func (p palette) css() string {
	rules := fmt.Sprintf(".ground{fill:%s}text{fill:%s}.stripe{stroke:%s}", p.ground, p.text, p.stripe)
	for _, o := range outcomes {
		if color := p.cells[o.class]; color != "" {
			rules += fmt.Sprintf(".%s{fill:%s}", o.class, color)
		}
	}
	return rules
}

// The sizes of a picture. A letter is as wide as the average of a wide system font. Names of locks rise by 60 degrees.
const (
	margin, rowHeight, columnWidth, labelWidth = 12, 26, 44, 274
	letter, slope, sin, cos                    = 7, 60, 0.87, 0.5
)

// svg draws the part. The names of colors and classes are in its own style, so that it follows the theme of the reader.
func (p part) svg() []byte {
	top, width := 0, max(620, columnAt(len(p.locks))+margin)
	for i, lock := range p.locks {
		top = max(top, 48+int(float64(len(lock))*letter*sin))
		width = max(width, columnAt(i)+columnWidth/2+margin+int(float64(len(lock))*letter*cos))
	}
	under := top + len(questions.All())*rowHeight + 10
	legend, under := drawLegend(under, width)
	footer := p.footer()
	height := under + len(footer)*15 + 4

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="t d" font-family="system-ui,sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", html.EscapeString(p.title), html.EscapeString(p.summary()))
	fmt.Fprintf(&b, "<style>.hatched{fill:url(#h)}.stripe{stroke-width:3}.c{font-size:11px;text-anchor:middle}.b{font-weight:600;font-size:13px}.s{font-size:10px}\n%s\n@media(prefers-color-scheme:dark){%s}</style>\n", light.css(), dark.css())
	b.WriteString(`<pattern id="h" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="stripe" d="M2 0V7"/></pattern>` + "\n")
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n<text class=\"b\" x=\"%d\" y=\"24\">%s</text>\n", width, height, margin, html.EscapeString(p.title))
	for i, lock := range p.locks {
		fmt.Fprintf(&b, "<text transform=\"translate(%d %d)rotate(-%d)\">%s</text>\n", columnAt(i)+columnWidth/2+4, top-8, slope, html.EscapeString(lock))
	}
	b.WriteString(p.drawCells(top) + legend)
	for i, line := range footer {
		fmt.Fprintf(&b, "<text class=\"s\" x=\"%d\" y=\"%d\">%s</text>\n", margin, under+i*15+4, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func columnAt(i int) int { return margin + labelWidth + i*columnWidth }

// drawCells has a path for the areas of each outcome, and a text for each row.
func (p part) drawCells(top int) string {
	areas := map[outcome]string{}
	var rows strings.Builder
	for i, q := range questions.All() {
		y := top + i*rowHeight
		fmt.Fprintf(&rows, "<text x=\"%d\" y=\"%d\">%s</text>\n", margin, y+17, html.EscapeString(q.Text))
		labels := ""
		for n, lock := range p.locks {
			c := p.cell(q, lock)
			areas[c.outcome()] += fmt.Sprintf("M%d %dh%dv%dh-%[3]dz", columnAt(n)+1, y+1, columnWidth-2, rowHeight-2)
			if label := c.label(); label != "" {
				labels += fmt.Sprintf("<tspan x=\"%d\">%s</tspan>", columnAt(n)+columnWidth/2, label)
			}
		}
		if labels != "" {
			fmt.Fprintf(&rows, "<text class=\"c\" y=\"%d\">%s</text>\n", y+17, labels)
		}
	}
	var b strings.Builder
	for _, o := range outcomes {
		if areas[o] != "" && o != noResult {
			fmt.Fprintf(&b, "<path class=\"%s\" d=\"%s\"/>\n", o.class, areas[o])
		}
	}
	return b.String() + rows.String()
}

// drawLegend explains the outcomes below y, in lines that fit into the width. It returns where the legend ends.
func drawLegend(y, width int) (text string, end int) {
	const box, height = 26, 18
	x := margin
	for _, o := range outcomes {
		needs := box + 22 + int(float64(len(o.words))*letter)
		if x > margin && x+needs > width {
			x, y = margin, y+rowHeight
		}
		if o != noResult {
			text += fmt.Sprintf("<path class=\"%s\" d=\"M%d %dh%dv%dh-%[4]dz\"/>", o.class, x, y, box, height)
		}
		sign := o.sign
		if o == held {
			sign = "0/n"
		}
		if sign != "" {
			text += fmt.Sprintf("<text class=\"c\" x=\"%d\" y=\"%d\">%s</text>", x+box/2, y+13, sign)
		}
		text += fmt.Sprintf("<text x=\"%d\" y=\"%d\">%s</text>\n", x+box+6, y+13, o.words)
		x += needs
	}
	return text, y + rowHeight + 10
}

// footer says by which commit, when and on which machine cells were measured.
func (p part) footer() []string {
	lines := []string{"k/n: k of n episodes that count were violated"}
	for _, b := range p.batches {
		if slices.ContainsFunc(p.shown(), func(c cell) bool { return c.Batch == b.Batch && c.Verdict != noPart }) {
			lines = append(lines, fmt.Sprintf("measured by commit %s, %s, world %s, %s", b.commit(), b.Begun, b.World, b.Machine))
		}
	}
	return lines
}

// pictures returns the pictures by their files.
func pictures() (map[string][]byte, error) {
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		return nil, err
	}
	batches, err := readTable[batch](batchesFile)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, p := range allParts(cells, batches) {
		all[p.file()] = p.svg()
	}
	plans, err := timelines()
	if err != nil {
		return nil, err
	}
	for _, t := range plans {
		all[t.file()] = t.svg()
	}
	return all, nil
}

// drawnFiles are the pictures that there are.
func drawnFiles() ([]string, error) {
	families, err1 := filepath.Glob(imagesDir + "questions-*.svg")
	plans, err2 := filepath.Glob(imagesDir + "scenario-*.svg")
	return slices.Concat(families, plans), errors.Join(err1, err2)
}

// draw writes the pictures, and removes those of parts that there are no longer.
func draw() error {
	all, err := pictures()
	if err != nil {
		return err
	}
	old, err := drawnFiles()
	if err != nil {
		return err
	}
	for _, file := range old {
		if all[file] == nil {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	for file, text := range all {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
