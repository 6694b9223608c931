package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/bitsched/bitsched/benchmarks"
)

// Page is a page.
type Page struct {
	Title    string
	Lead     string // a sentence below the title
	Sections []Section
	Live     bool // a [Server] tells the page of what is new
	Version  int  // of the results that it was made of, as the server counts them
}

// Section is a part of a page with a heading of its own.
type Section struct {
	ID    string // unique in the page; made of the title if it is ""
	Title string
	Lead  string
	Parts []Part
}

// Part is a piece of a section: [Facts], [Note], [Text], [Table], [Figure] or [View].
type Part interface{ template() string }

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Long reports whether the value is more of a text than of a number.
func (f Fact) Long() bool { return len(f.Value) > 14 }

// Facts are the figures that count most.
type Facts []Fact

// Note is a sentence.
type Note string

// Text is a text as it is, in lines.
type Text string

// Table is a table that can be sorted and filtered.
type Table struct {
	benchmarks.Table
	Notes []string
	Live  string // the name of the view whose rows it has; "" = it stays as it is
}

// Label names the table for those who do not see it.
func (t *Table) Label() string { return label(t.Title, "Table") }

// Figure is a drawing.
type Figure struct {
	Title   string
	Caption string
	SVG     []byte
	Wide    bool // scrolls rather than shrinks
}

// Label names the drawing: by its own title where the page has none.
func (f *Figure) Label() string {
	if _, rest, ok := bytes.Cut(f.SVG, []byte("<title>")); ok && f.Title == "" {
		if own, _, ok := bytes.Cut(rest, []byte("</title>")); ok {
			return html.UnescapeString(string(own))
		}
	}
	return label(f.Title, "Drawing")
}

// View is what a script draws of data.
type View struct {
	Kind  string // of the script
	Title string
	Lead  string
	Data  any    // that JSON can say
	Live  string // the name under which a [Server] has newer data; "" = none
}

func (Facts) template() string   { return "facts" }
func (Note) template() string    { return "note" }
func (Text) template() string    { return "text" }
func (*Table) template() string  { return "table" }
func (*Figure) template() string { return "figure" }
func (*View) template() string   { return "view" }

func label(title, other string) string {
	if title == "" {
		return other
	}
	return title
}

//go:embed assets
var assets embed.FS

// scripts are the files of the script, in order.
var scripts = []string{"page.js", "lanes.js", "circuit.js", "heat.js", "kernel.js", "sweep.js", "bars.js"}

// tool is the template with what it needs.
type tool struct {
	template *template.Template
	style    template.CSS
	script   template.JS
	policy   string
}

var tools = sync.OnceValue(func() *tool {
	read := func(name string) string {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic("report: " + err.Error()) // it is part of the program
		}
		return string(text)
	}
	var script strings.Builder
	for _, name := range scripts {
		script.WriteString(read(name))
	}
	t := &tool{style: template.CSS(read("style.css")), script: template.JS(script.String())}
	sum := sha256.Sum256([]byte(script.String()))
	// No other script, nothing from elsewhere; a served page asks its server for news.
	t.policy = "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; connect-src 'self'"
	t.template = template.New("page")
	t.template.Funcs(template.FuncMap{"tone": tone, "part": func(p Part) (template.HTML, error) {
		var b bytes.Buffer
		err := t.template.ExecuteTemplate(&b, p.template(), p)
		return template.HTML(b.String()), err // of a template that escapes
	}})
	template.Must(t.template.Parse(read("page.html")))
	return t
})

// tone is the class of a cell that says how something went.
func tone(text string) string {
	switch {
	case text == "reproduced", text == "better", strings.HasPrefix(text, "under reading"):
		return "good"
	case text == "differs", strings.HasPrefix(text, "failed"):
		return "bad"
	}
	return ""
}

// Drawing is the SVG for the page.
func (f *Figure) Drawing() (template.HTML, error) {
	text, err := cleanSVG(f.SVG)
	return template.HTML(text), err // of elements that are allowed, and texts that are escaped
}

// JSON is the data for the page, in which no text ends the element that it is in.
func (v *View) JSON() (template.JS, error) {
	text, err := json.Marshal(v.Data) // which escapes <, > and &
	return template.JS(text), err
}

var noWord = regexp.MustCompile(`[^a-z0-9]+`)

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	t := tools()
	used := map[string]bool{"main": true, "theme": true, "live": true, "tip": true}
	sections := make([]Section, len(p.Sections))
	for i, s := range p.Sections {
		id := strings.Trim(noWord.ReplaceAllString(strings.ToLower(s.Title), "-"), "-")
		if s.ID != "" {
			id = s.ID
		}
		s.ID = "s-" + id
		for n := 2; used[s.ID]; n++ {
			s.ID = fmt.Sprintf("s-%s-%d", id, n)
		}
		used[s.ID] = true
		sections[i] = s
	}
	err := t.template.Execute(w, struct {
		*Page
		Sections []Section
		Style    template.CSS
		Script   template.JS
		Policy   string
	}{p, sections, t.style, t.script, t.policy})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
