package queue

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// authority signs certificates and writes them to files of its folder.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	ca   string // file of its own certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	a.ca, _ = a.issue("ca", a.cert)
	return a
}

// issue writes a certificate, of the authority itself at first, and its key.
func (a *authority) issue(name string, cert *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if a.key == nil {
		a.key = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(a.t, err)
	certFile, keyFile = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	require.NoError(a.t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	return certFile, keyFile
}

// leaf is a certificate of a host, or of a client that needs none.
func leaf(host string) *x509.Certificate {
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	return c
}

// TestTLS: a sweep on a server with a certificate gives the bytes of one process, and who
// does not trust the certificate, or has no password, gets nothing.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server", leaf("127.0.0.1"))
	listen := freePort(t)
	srv, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: listen, User: "bitsched", Password: "secret", Cert: cert, Key: key})
	require.NoError(t, err)
	defer srv.Close()
	for want, c := range map[string]Connection{
		"unknown authority": {URL: "tls://" + listen, User: "bitsched", Password: "secret"},
		"authority":         {URL: "tls://" + listen, User: "bitsched", Password: "secret", CA: newAuthority(t).ca},
		"Authorization":     {URL: "tls://" + listen, CA: a.ca},
		"authorization":     {URL: "nats://bitsched:wrong@" + listen, CA: a.ca},
	} {
		_, err := c.Dial(t.Context())
		require.Error(t, err)
		require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(want))
		require.NotContains(t, err.Error(), "wrong")
		require.NotContains(t, err.Error(), "\n")
	}

	dir := writePlan(t, 8)
	want := inProcess(t, dir)
	s, err := open(dir)
	require.NoError(t, err)
	conn, err := (&Connection{URL: "tls://" + listen, User: "bitsched", Password: "secret", CA: a.ca}).Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	require.True(t, conn.TLSRequired())
	exe, err := os.Executable()
	require.NoError(t, err)
	s.Store, err = results.Open(t.TempDir())
	require.NoError(t, err)
	s.Executor = &Executor{Conn: conn, Version: testVersion, Lease: testLease, Workers: 2, Program: exe}
	sum, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &sweep.Summary{Jobs: 8, Done: 8}, sum)
	require.Equal(t, want, export(t, s))

	elsewhere, elsewhereKey := a.issue("elsewhere", leaf("queue.example.org"))
	other := freePort(t)
	named, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: other, Cert: elsewhere, Key: elsewhereKey})
	require.NoError(t, err)
	defer named.Close()
	_, err = (&Connection{URL: "tls://" + other, CA: a.ca}).Dial(t.Context())
	require.ErrorContains(t, err, "127.0.0.1")
	_, err = StartServer(ServerOptions{Dir: t.TempDir(), Listen: freePort(t), Cert: cert, Key: elsewhereKey})
	require.ErrorContains(t, err, "private key does not match")
}

// run starts a server as others have it.
func run(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s.Addr().String()
}

// TestClientCertificate: a server that asks for one lets in who has it.
func TestClientCertificate(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("server", leaf("127.0.0.1"))
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: cert, KeyFile: key, CaFile: a.ca, Verify: true})
	require.NoError(t, err)
	address := run(t, &server.Options{TLS: true, TLSVerify: true, TLSConfig: config, TLSTimeout: 5})
	client, clientKey := a.issue("client", leaf("worker"))
	conn, err := (&Connection{URL: "tls://" + address, CA: a.ca, Cert: client, Key: clientKey}).Dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	conn.Close()
	stranger, strangerKey := newAuthority(t).issue("client", leaf("worker"))
	for _, c := range []Connection{{CA: a.ca}, {CA: a.ca, Cert: stranger, Key: strangerKey}, {CA: a.ca, Cert: client, Key: strangerKey}, {CA: a.ca, Cert: filepath.Join(a.dir, "nothere"), Key: clientKey}} {
		c.URL = "tls://" + address
		_, err := c.Dial(t.Context())
		require.Error(t, err, "%+v", c)
	}
}

// TestCredentials: a server whose users are signed by an account of its operator lets in
// who has a file with a token and its key.
func TestCredentials(t *testing.T) {
	pair := func(kind nkeys.PrefixByte) (nkeys.KeyPair, string) {
		k, err := nkeys.CreatePair(kind)
		require.NoError(t, err)
		public, err := k.PublicKey()
		require.NoError(t, err)
		return k, public
	}
	operator, operatorName := pair(nkeys.PrefixByteOperator)
	account, accountName := pair(nkeys.PrefixByteAccount)
	stranger, _ := pair(nkeys.PrefixByteAccount)
	token, err := jwt.NewAccountClaims(accountName).Encode(operator)
	require.NoError(t, err)
	resolver := &server.MemAccResolver{}
	require.NoError(t, resolver.Store(accountName, token))
	address := run(t, &server.Options{TrustedKeys: []string{operatorName}, AccountResolver: resolver})

	creds := func(signer nkeys.KeyPair) (file, seed string) {
		user, userName := pair(nkeys.PrefixByteUser)
		token, err := jwt.NewUserClaims(userName).Encode(signer)
		require.NoError(t, err)
		secret, err := user.Seed()
		require.NoError(t, err)
		text, err := jwt.FormatUserConfig(token, secret)
		require.NoError(t, err)
		file = filepath.Join(t.TempDir(), "user.creds")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file, string(secret)
	}
	good, _ := creds(account)
	conn, err := (&Connection{URL: "nats://" + address, Creds: good}).Dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	conn.Close()
	bad, seed := creds(stranger)
	for _, c := range []Connection{{}, {Creds: bad}, {User: "bitsched", Password: "secret"}} {
		c.URL = "nats://" + address
		_, err := c.Dial(t.Context())
		require.ErrorContains(t, err, "Authorization", "%+v", c)
		require.NotContains(t, err.Error(), seed)
	}
	_, err = (&Connection{URL: "nats://" + address, Creds: filepath.Join(t.TempDir(), "nothere.creds")}).Dial(t.Context())
	require.ErrorContains(t, err, "nothere.creds")
}

// listening are the addresses at which this process waits for others, as the system knows
// them.
func listening(t *testing.T) []string {
	t.Helper()
	mine := map[string]bool{}
	list, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range list {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.Trim(to, "socket:[]")] = true
		}
	}
	var found []string
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6", "/proc/self/net/udp", "/proc/self/net/udp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue // no IPv6
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			field := strings.Fields(lines.Text()) // sl local remote state ... inode
			if len(field) > 9 && mine[field[9]] && (field[3] == "0A" || strings.HasSuffix(table, "udp") || strings.HasSuffix(table, "udp6")) {
				found = append(found, field[1])
			}
		}
	}
	return found
}

// TestNothingElseListens: a server in the process has no port, or the one that was asked for.
func TestNothingElseListens(t *testing.T) {
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Skip("no /proc/self/net here")
	}
	before := listening(t)
	quiet, err := StartServer(ServerOptions{Dir: t.TempDir()})
	require.NoError(t, err)
	defer quiet.Close()
	conn, err := quiet.Dial()
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, before, listening(t))
	srv, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: freePort(t)})
	require.NoError(t, err)
	defer srv.Close()
	after := listening(t)
	require.Len(t, after, len(before)+1)
	require.Contains(t, strings.Join(after, " "), "0100007F:", "127.0.0.1, as the system writes it")
}
