package report

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// served is a server of a folder of results, and what puts a record there.
func served(t *testing.T) (address string, put func(i int), stop func()) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plan.results")
	store, err := results.Open(dir)
	require.NoError(t, err)
	all := records()
	put = func(i int) {
		r := *all[i]
		r.Key = results.Key(i)
		require.NoError(t, store.Put(r.Key, &r))
	}
	put(0)
	put(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s := &Server{Title: "plan", Paths: []string{dir}, Total: len(all), Every: 20 * time.Millisecond}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("the server does not end")
		}
	}
	t.Cleanup(stop)
	return "http://" + l.Addr().String(), put, stop
}

func get(t *testing.T, method, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// TestServeSince: what comes between a page and its events is told.
func TestServeSince(t *testing.T) {
	address, put, stop := served(t)
	defer stop()
	_, text := get(t, "GET", address+"/", "")
	_, rest, ok := strings.Cut(text, `data-version="`)
	require.True(t, ok)
	version, _, _ := strings.Cut(rest, `"`)
	put(2)
	require.Eventually(t, func() bool {
		_, text := get(t, "GET", address+"/", "")
		return !strings.Contains(text, `data-version="`+version+`"`)
	}, time.Minute, 20*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", address+"/events?since="+version, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: results\n", line)
}

func TestServe(t *testing.T) {
	before := runtime.NumGoroutine()
	address, put, stop := served(t)
	code, text := get(t, "GET", address+"/", "")
	require.Equal(t, 200, code)
	require.True(t, strings.Contains(text, `data-live="yes"`))
	lacks(t, text, os.TempDir())
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/data/0", "", 200}, {"GET", "/data/1", "", 404}, {"GET", "/data/..%2f..", "", 404}, {"GET", "/etc/passwd", "", 404}, {"GET", "/", "localhost:1", 200},
		{"GET", "/", "evil.example:80", 421}, {"POST", "/", "", 405}, {"PUT", "/data/0", "", 405}, {"DELETE", "/", "", 405}, {"HEAD", "/", "", 200},
	} {
		code, _ := get(t, c.method, address+c.path, c.host)
		require.Equal(t, c.want, code, "%s %s", c.method, c.path)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", address+"/events", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return name
			}
		}
		return "closed"
	}
	put(2)
	require.Equal(t, "results", next())
	_, text = get(t, "GET", address+"/data/0", "")
	require.Equal(t, 3, strings.Count(text, `"copies":`))
	stop()
	require.Contains(t, []string{"end", "results"}, next())
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, time.Minute, 20*time.Millisecond, "goroutines stay")
}

// TestServeUnfinished: a folder in which a record is being written has nothing new.
func TestServeUnfinished(t *testing.T) {
	dir := t.TempDir()
	store, err := results.Open(dir)
	require.NoError(t, err)
	put := func(i int) {
		r := *records()[i]
		r.Key = results.Key(i)
		require.NoError(t, store.Put(r.Key, &r))
	}
	put(0)
	s := &Server{Title: "plan", Paths: []string{dir}}
	require.NoError(t, s.look(t.Context()))
	dirs, err := filepath.Glob(filepath.Join(dir, "[0-9a-f][0-9a-f]"))
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	before := s.states[0]
	require.NoError(t, os.Chtimes(dirs[0], time.Time{}, time.Now().Add(time.Hour)))
	require.NoError(t, s.look(t.Context()))
	require.NotEqual(t, before, s.states[0])
	require.Equal(t, 1, s.version)
	put(1)
	require.NoError(t, s.look(t.Context()))
	require.Equal(t, 2, s.version)
}

// TestServeInBrowser watches a page while results come.
func TestServeInBrowser(t *testing.T) {
	ctx := browser(t)
	b := open(t, ctx)
	address, put, stop := served(t)
	b.load(address, 1280, 900, "dark")
	// While the page loads again there is nothing yet.
	state := `!document.querySelector("[data-view=sweep] .status") ? "" : document.querySelector("[data-view=sweep] .status").textContent.trim() + "; " + document.querySelectorAll("tbody tr").length + " rows; " + document.getElementById("live").textContent`
	until := func(want string) {
		t.Helper()
		// A page that loads again while it is asked answers with an error.
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			got, err := chromedp.Run(ctx, chromedp.Evaluate[string](state))
			assert.NoError(c, err)
			assert.Equal(c, want, got)
		}, time.Minute, 50*time.Millisecond)
	}
	until("2 of 24 jobs done; 2 rows; Live")
	for i := 2; i < 7; i++ {
		put(i)
	}
	until("7 of 24 jobs done, 1 failed; 7 rows; Live")
	b.accessible("live")
	b.quiet()
	stop()
	until(fmt.Sprintf("7 of 24 jobs done, 1 failed; 7 rows; %s", "The server has ended; this is what it had."))
}
