package queue_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/bitsched/bitsched/benchmarks/sweep/queue"
)

// A server in this process, that nothing else can reach; one that others could reach
// needs a password.
func ExampleStartServer() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	_, err = queue.StartServer(queue.ServerOptions{Dir: dir, Listen: "0.0.0.0:4222"})
	fmt.Println(errors.Is(err, queue.ErrOpen))

	server, err := queue.StartServer(queue.ServerOptions{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, err := server.Dial()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.Status())
	// Output:
	// true
	// CONNECTED
}
