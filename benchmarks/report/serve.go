package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// Server shows results while a sweep adds to them. It only reads.
type Server struct {
	Title string
	Paths []string      // as those of [Read]
	Total int           // jobs of the sweeps, 0 if it is not known
	Every time.Duration // how often it looks for what is new; 0 = DefaultEvery

	mu      sync.Mutex
	page    []byte
	data    map[string][]byte // of folders, by their numbers
	states  []string          // of the paths
	folders []bool
	version int
	changed chan struct{} // closed when the version changes
	reload  int           // version since which a page must be loaded anew
}

// DefaultEvery is how often a server looks for new results.
const DefaultEvery = time.Second

// state tells results from later ones, cheaply: the number of files and the last change.
func state(path string) (string, bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false, fmt.Errorf("report: %w", err)
	}
	if !info.IsDir() {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), false, nil
	}
	store, err := results.Open(path)
	if err != nil {
		return "", false, err
	}
	keys, err := store.Keys()
	if err != nil {
		return "", false, err
	}
	// A record that takes another's place changes the time of its folder.
	last := int64(0)
	dirs, err := filepath.Glob(filepath.Join(path, "[0-9a-f][0-9a-f]"))
	if err != nil {
		return "", false, err
	}
	for _, d := range dirs {
		if i, err := os.Stat(d); err == nil {
			last = max(last, i.ModTime().UnixNano())
		}
	}
	return fmt.Sprint(len(keys), last), true, nil
}

// look reads what has changed.
func (s *Server) look(ctx context.Context) error {
	states := make([]string, len(s.Paths))
	folders := make([]bool, len(s.Paths))
	same := len(s.states) == len(s.Paths)
	only := true // folders have changed and nothing else
	for i, p := range s.Paths {
		var err error
		if states[i], folders[i], err = state(p); err != nil {
			return err
		}
		if same && states[i] != s.states[i] && !folders[i] {
			only = false
		}
	}
	if s.states != nil && strings.Join(states, " ") == strings.Join(s.states, " ") {
		return nil
	}
	data := map[string][]byte{}
	page := &Page{Title: s.Title, Live: true}
	for i, p := range s.Paths {
		if !folders[i] {
			continue
		}
		records, err := folder(p)
		if err != nil {
			return err
		}
		name := strconv.Itoa(i)
		total := len(records)
		if s.Total > 0 && len(s.Paths) == 1 {
			total = max(s.Total, total)
		}
		view, table := sweepView(records, total)
		text, err := json.Marshal(struct {
			View *sweepData `json:"view"`
			Rows [][]string `json:"rows"`
			Head int        `json:"head"`
		}{view, table.Rows, len(table.Columns)})
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		// A first record brings columns that the page does not have.
		if old, ok := s.data[name]; ok && head(old) != len(table.Columns) {
			only = false
		}
		data[name] = text
		page.Sections = append(page.Sections, Sweep(titleOf(p), records, total, name)...)
	}
	if same && only && maps.EqualFunc(data, s.data, bytes.Equal) {
		s.states = states // a record is being written
		return nil
	}
	var files []string
	for i, p := range s.Paths {
		if !folders[i] {
			files = append(files, p)
		}
	}
	sections, err := Read(ctx, files...)
	if err != nil {
		return err
	}
	page.Sections = append(page.Sections, sections...)
	s.mu.Lock()
	page.Version = s.version + 1
	s.mu.Unlock()
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.states == nil
	s.page, s.data, s.states, s.folders = b.Bytes(), data, states, folders
	s.version++
	if !only && !first {
		s.reload = s.version
	}
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
	return nil
}

func head(text []byte) int {
	var v struct{ Head int }
	if json.Unmarshal(text, &v) != nil {
		return -1
	}
	return v.Head
}

// Run answers requests until ctx ends, which is no error. Connections of pages are told
// and closed.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if err := s.look(ctx); err != nil {
		l.Close()
		return err
	}
	h := &http.Server{Handler: s.guard(l.Addr(), s.handler(ctx)), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	every := s.Every
	if every <= 0 {
		every = DefaultEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if err := h.Shutdown(end); err != nil {
				return h.Close()
			}
			return nil
		case err := <-done:
			return fmt.Errorf("report: %w", err)
		case <-tick.C:
			// A file that is being written is read the next time.
			_ = s.look(ctx)
		}
	}
}

// guard answers the names of this machine only, where only it is reached: a page of
// another site must not read results by a name that it has pointed at us.
func (s *Server) guard(at net.Addr, next http.Handler) http.Handler {
	tcp, ok := at.(*net.TCPAddr)
	local := ok && tcp.IP.IsLoopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if local && !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "no such host", http.StatusMisdirectedRequest)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "read only", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (s *Server) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		page := s.page
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // whoever asked may be gone
	})
	mux.HandleFunc("/data/{name}", func(w http.ResponseWriter, r *http.Request) {
		name, err := url.PathUnescape(r.PathValue("name"))
		s.mu.Lock()
		data := s.data[name]
		s.mu.Unlock()
		if err != nil || data == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) { s.events(ctx, w, r) })
	return mux
}

// events tells a page what is new, as server-sent events.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name string, id int) error {
		_, err := fmt.Fprintf(w, "event: %s\nid: %d\ndata: %d\n\n", name, id, id)
		return errors.Join(err, out.Flush())
	}
	s.mu.Lock()
	seen := s.version
	s.mu.Unlock()
	// What came since the page was made, or while the connection was lost.
	for _, since := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since")} {
		if version, err := strconv.Atoi(since); err == nil {
			seen = min(seen, max(version, 0))
			break
		}
	}
	if err := out.Flush(); err != nil {
		return
	}
	alive := time.NewTicker(20 * time.Second)
	defer alive.Stop()
	for {
		s.mu.Lock()
		version, changed, reload := s.version, s.changed, s.reload
		s.mu.Unlock()
		if version > seen {
			name := "results"
			if reload > seen {
				name = "reload"
			}
			if send(name, version) != nil {
				return
			}
			seen = version
		}
		select {
		case <-r.Context().Done():
			return
		case <-ctx.Done():
			_ = send("end", seen)
			return
		case <-changed:
		case <-alive.C:
			if _, err := fmt.Fprint(w, ": \n\n"); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}
