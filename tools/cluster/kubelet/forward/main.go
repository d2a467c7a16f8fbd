// Forwards TCP connections, out of a network namespace that has no other way to the API server.
// Usage: forward LISTEN... TO, each HOST:PORT or unix:PATH. Only the programs of one test cluster use it.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// A connection that the other side does not accept within this time is closed.
const dialAtMost = 10 * time.Second

// Connections beyond this number wait in the kernel's queue.
const connectionsAtMost = 1000

func main() {
	if len(os.Args) < 3 {
		end(fmt.Errorf("usage: forward LISTEN... TO"))
	}
	listen, to := os.Args[1:len(os.Args)-1], os.Args[len(os.Args)-1]
	free := make(chan struct{}, connectionsAtMost)
	ended := make(chan error)
	for _, from := range listen {
		network, address := split(from)
		if network == "unix" {
			_ = os.Remove(address)
		}
		listener, err := net.Listen(network, address)
		if err != nil {
			end(err)
		}
		go func() { ended <- serve(listener, to, free) }()
	}
	end(<-ended)
}

func serve(listener net.Listener, to string, free chan struct{}) error {
	for {
		free <- struct{}{}
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			forward(connection, to)
			<-free
		}()
	}
}

func forward(here net.Conn, to string) {
	defer here.Close()
	network, address := split(to)
	there, err := net.DialTimeout(network, address, dialAtMost)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer there.Close()
	// One end that closes ends both directions: a client of the API server never closes half a connection.
	done := make(chan struct{}, 2)
	pump := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go pump(there, here)
	go pump(here, there)
	<-done
}

func split(address string) (network, rest string) {
	if path, found := strings.CutPrefix(address, "unix:"); found {
		return "unix", path
	}
	return "tcp", address
}

func end(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
