package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

// elements and attributes are those that drawings of this project have, and nothing
// that runs, loads or leads away.
var (
	svgElements = strings.Fields("svg g path rect circle line polyline polygon text tspan title desc defs pattern marker clipPath linearGradient stop ellipse")
	svgAttrs    = strings.Fields("width height viewBox role x y x1 y1 x2 y2 dx dy cx cy r rx ry d points fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray " +
		"stroke-linejoin stroke-linecap font-size font-weight font-family text-anchor dominant-baseline transform opacity id class patternUnits patternTransform " +
		"refX refY markerWidth markerHeight orient marker-end marker-start clip-path offset stop-color preserveAspectRatio data-node data-line")
)

// drawings numbers them, since names of definitions are those of the whole page.
var drawings atomic.Uint64

// cleanSVG puts a drawing together again of what is allowed, with definitions that no
// other drawing of a page has.
func cleanSVG(text []byte) (string, error) {
	prefix := fmt.Sprintf("d%d-", drawings.Add(1))
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	var b strings.Builder
	depth, skip := 0, 0 // skip: depth of the element that is left out
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("report: a drawing is no SVG: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			if skip == 0 && !slices.Contains(svgElements, e.Name.Local) {
				skip = depth
			}
			if skip > 0 {
				continue
			}
			b.WriteString("<" + e.Name.Local)
			if depth == 1 {
				if e.Name.Local != "svg" {
					return "", errors.New("report: a drawing is no SVG")
				}
				b.WriteString(` xmlns="http://www.w3.org/2000/svg" class="drawn"`)
			}
			for _, a := range e.Attr {
				v := a.Value
				if a.Name.Space != "" || !slices.Contains(svgAttrs, a.Name.Local) || depth == 1 && a.Name.Local == "class" {
					continue
				}
				if low := strings.ToLower(v); strings.Contains(low, "url(") {
					name, ok := strings.CutPrefix(v, "url(#")
					if !ok || strings.Count(low, "url(") != 1 {
						continue
					}
					v = "url(#" + prefix + name
				}
				if a.Name.Local == "id" {
					v = prefix + v
				}
				b.WriteString(" " + a.Name.Local + `="`)
				if err := xml.EscapeText(&b, []byte(v)); err != nil {
					return "", err
				}
				b.WriteString(`"`)
			}
			b.WriteString(">")
		case xml.EndElement:
			if skip == 0 {
				b.WriteString("</" + e.Name.Local + ">")
			}
			if skip == depth {
				skip = 0
			}
			depth--
		case xml.CharData:
			if skip == 0 && depth > 0 {
				if err := xml.EscapeText(&b, e); err != nil {
					return "", err
				}
			}
		}
	}
	if b.Len() == 0 {
		return "", errors.New("report: a drawing is empty")
	}
	return b.String(), nil
}
