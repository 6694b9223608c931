package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connection says where a server is and who asks.
type Connection struct {
	URL            string // nats://HOST:PORT or tls://HOST:PORT, several with commas between them
	User, Password string // "" = those of the URL
	Creds          string // file with a token and its key
	CA             string // file with the certificates that the server's is signed by
	Cert, Key      string // files with the client's certificate and its key

	Note func(format string, args ...any) // told when a connection is lost and found; may be nil
}

// Redacted is the URL without what is secret.
func (c *Connection) Redacted() string {
	var all []string
	for _, part := range strings.Split(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			all = append(all, "the server")
			continue
		}
		if u.User != nil {
			u.User = url.User("...")
		}
		all = append(all, u.String())
	}
	return strings.Join(all, ",")
}

// patience is how long a first connection is tried for.
const patience = 30 * time.Second

// Dial connects. A server that cannot be reached is tried for 30 seconds; a
// connection that is lost later is sought for ever.
func (c *Connection) Dial(ctx context.Context) (*nats.Conn, error) {
	for _, part := range strings.Split(c.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(part)); err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss" {
			return nil, fmt.Errorf("queue: %s is no address of a server, expected one as nats://HOST:PORT or tls://HOST:PORT", c.Redacted())
		}
	}
	o := c.options()
	if c.User != "" {
		o = append(o, nats.UserInfo(c.User, c.Password))
	}
	if c.Creds != "" {
		o = append(o, nats.UserCredentials(c.Creds))
	}
	if c.CA != "" {
		o = append(o, nats.RootCAs(c.CA))
	}
	if c.Cert != "" || c.Key != "" {
		o = append(o, nats.ClientCert(c.Cert, c.Key))
	}
	for end, told := time.Now().Add(patience), false; ; {
		conn, err := nats.Connect(c.URL, o...)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, nats.ErrNoServers) && !errors.Is(err, nats.ErrTimeout) || time.Now().After(end) {
			return nil, fmt.Errorf("queue: %s: %s", c.Redacted(), strings.ReplaceAll(strings.TrimPrefix(err.Error(), "nats: "), c.URL, c.Redacted()))
		}
		if !told && c.Note != nil {
			told = true
			c.Note("%s does not answer yet", c.Redacted())
		}
		if err := sleep(ctx, 300*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// options are those of every connection.
func (c *Connection) options() []nats.Option {
	note := func(format string, args ...any) {
		if c.Note != nil {
			c.Note(format, args...)
		}
	}
	return []nats.Option{
		nats.Name("bitsched"), nats.Timeout(5 * time.Second),
		nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(conn *nats.Conn, err error) {
			if err != nil {
				note("lost %s, looking for it", c.Redacted())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { note("found %s again", c.Redacted()) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // which the calls return as well
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
