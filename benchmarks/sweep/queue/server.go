package queue

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ServerOptions say what a server in this process is like.
type ServerOptions struct {
	Dir    string // of what it keeps
	Listen string // HOST:PORT for workers elsewhere, "" = nothing listens

	User, Password string // that clients must have, if Password is not ""
	Cert, Key      string // files of its certificate, for TLS
}

// Server is a NATS server in this process.
type Server struct {
	server  *server.Server
	options ServerOptions
}

// ErrOpen is the error of a server that anybody could use.
var ErrOpen = errors.New("a server that others can reach needs a password")

// StartServer starts a server. It listens beyond the machine with a password only.
func StartServer(o ServerOptions) (*Server, error) {
	opt := &server.Options{
		ServerName: "bitsched", JetStream: true, StoreDir: o.Dir, NoLog: true, NoSigs: true, DontListen: o.Listen == "",
		Username: o.User, Password: o.Password, DisableShortFirstPing: true,
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		n, err2 := strconv.Atoi(port)
		if err != nil || err2 != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("queue: address %s, expected HOST:PORT as in 127.0.0.1:4222", o.Listen)
		}
		if !loopback(host) && o.Password == "" {
			return nil, fmt.Errorf("queue: listen on %s: %w, expected one in NATS_PASSWORD", o.Listen, ErrOpen)
		}
		if l, err := net.Listen("tcp", o.Listen); err != nil { // which the server would end the process for
			return nil, fmt.Errorf("queue: listen on %s: %w", o.Listen, cause(err))
		} else if err := l.Close(); err != nil {
			return nil, fmt.Errorf("queue: %w", err)
		}
		opt.Host, opt.Port = host, n
		if o.Cert != "" {
			config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.Key})
			if err != nil {
				return nil, fmt.Errorf("queue: %w", err)
			}
			opt.TLSConfig, opt.TLS, opt.TLSTimeout = config, true, 5
		}
	}
	s, err := server.NewServer(opt)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		s.Shutdown()
		return nil, errors.New("queue: the server does not start")
	}
	return &Server{s, o}, nil
}

// Dial connects within the process.
func (s *Server) Dial() (*nats.Conn, error) {
	c := &Connection{URL: "embedded"}
	conn, err := nats.Connect("nats://127.0.0.1", append(c.options(), nats.InProcessServer(s.server), nats.UserInfo(s.options.User, s.options.Password))...)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	return conn, nil
}

// Close ends the server, and with it what listens.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// cause is the error of the system, without the words around it.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
