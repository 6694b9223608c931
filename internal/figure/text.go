package figure

import (
	"math"
	"strconv"
	"strings"
)

// TextWidth estimates the width of a text, rather too much than too little: which
// font there will be is not known. DejaVu Sans is the widest of those asked for.
func TextWidth(text string, size float64, bold bool) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljIJ|'", r):
			w += 0.34
		case strings.ContainsRune(" .,:;!()[]ftr/-\u2009·", r):
			w += 0.43
		case strings.ContainsRune("mwMW%@…", r) || r > 0x2e80:
			w += 1.0
		case strings.ContainsRune("+=<>~#^&CDGHNOQRU×", r) || r > 0x2000:
			w += 0.84
		case r >= 'A' && r <= 'Z':
			w += 0.7
		default:
			w += 0.637
		}
	}
	if bold {
		w *= 1.16
	}
	return w * size
}

// Shorten cuts a text out of the middle to at most a number of characters: names
// that begin alike often end differently.
func Shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	tail := (most - 1) / 2
	return string(r[:most-1-tail]) + "…" + string(r[len(r)-tail:])
}

// TickText prints the value of a tick.
func TickText(v float64) string {
	return grouped(strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64))
}

// ShortText prints three digits, with an exponent where the number is far from 1.
func ShortText(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if digits, exponent, ok := strings.Cut(s, "e"); ok {
		sign := strings.TrimPrefix(exponent[:1], "+")
		return digits + "e" + sign + strings.TrimLeft(exponent[1:], "0")
	}
	return s
}

// grouped puts a thin space between thousands of a number of five digits or more.
func grouped(s string) string {
	whole, rest, dot := strings.Cut(s, ".")
	if len(whole) > 4 {
		var b strings.Builder
		for i, r := range whole {
			if i > 0 && (len(whole)-i)%3 == 0 {
				b.WriteRune('\u2009')
			}
			b.WriteRune(r)
		}
		whole = b.String()
	}
	if dot {
		return whole + "." + rest
	}
	return whole
}
