package report

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestPictures takes the pictures of docs/examples again, of pages that the commands there
// make, with the program as it is now:
//
//	BITSCHED_PICTURES=1 go test ./benchmarks/report -run Pictures
func TestPictures(t *testing.T) {
	if os.Getenv("BITSCHED_PICTURES") == "" {
		t.Skip("pictures of docs/examples are taken again with BITSCHED_PICTURES=1")
	}
	b := open(t, browser(t))
	folder := filepath.Join("..", "..", "docs", "examples")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder)))
	program := filepath.Join(dir, "bitsched")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/bitsched").CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ bitsched "); ok {
			run := exec.Command(program, strings.Fields(command)...)
			run.Dir = dir
			out, err := run.CombinedOutput()
			require.NoError(t, err, string(out))
		}
	}
	for _, p := range []struct {
		page, picture string
		height        int
		top           string // what the picture begins with
		before        string // what is clicked before
	}{
		{"popcount", "schedule", 640, "[data-view=lanes]", ""},
		{"compare", "compare", 1040, "[data-view=sweep]", ""},
		{"blur", "kernel", 860, "[data-view=kernel]", ".code button"},
		{"digits", "map", 640, "h2", ""},
	} {
		b.load((&url.URL{Scheme: "file", Path: filepath.Join(dir, p.page+".html")}).String(), 1100, p.height, "light")
		if p.before != "" {
			b.eval("document.querySelector('" + p.before + "').click()")
		}
		b.eval("(() => { const e = document.querySelector('" + p.top + "'); scrollTo({top: e.getBoundingClientRect().top + scrollY - 24, behavior: 'instant'}); document.documentElement.style.overflow = 'hidden'; })()")
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, p.picture+".png"), picture, 0o644))
	}
	b.quiet()
}
