// The other end of the interoperability suite: a plain user of hashicorp/yamux. It dials the test, plays the role it is
// told, and obeys a one-line command at the start of every stream it accepts.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

func main() {
	role, address := os.Args[1], os.Args[2]
	conn, err := net.Dial("tcp", address)
	check(err)
	config := yamux.DefaultConfig()
	config.EnableKeepAlive = false
	config.MaxStreamWindowSize = 4 << 20
	// How long the other half of a stream may stay open after its own.
	config.StreamCloseTimeout, err = time.ParseDuration(os.Args[3])
	check(err)
	config.ConnectionWriteTimeout = time.Minute
	open := yamux.Client
	if role == "server" {
		open = yamux.Server
	}
	session, err := open(conn, config)
	check(err)
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			fmt.Fprintln(os.Stderr, "session ended:", err)
			return
		}
		go serve(session, stream)
	}
}

func serve(session *yamux.Session, stream *yamux.Stream) {
	reader := bufio.NewReader(stream)
	line, err := reader.ReadString('\n')
	if err != nil {
		return
	}
	command := strings.Fields(line)
	switch command[0] {
	case "echo":
		io.Copy(stream, reader)
		stream.Close()
	case "sum":
		hash := sha256.New()
		n, _ := io.Copy(hash, reader)
		fmt.Fprintf(stream, "%d %s", n, hex.EncodeToString(hash.Sum(nil)))
		stream.Close()
	case "send":
		stream.Write(pattern(number(command[1])))
		stream.Close()
	case "leave": // Close without waiting for the other end: after the close timeout the library resets the stream.
		stream.Close()
	case "stall":
		time.Sleep(time.Hour)
	case "ping":
		rtt, err := session.Ping()
		fmt.Fprintf(stream, "%v %v", rtt >= 0, err)
		stream.Close()
	case "goaway":
		fmt.Fprintf(stream, "%v", session.GoAway())
		stream.Close()
	case "open":
		fmt.Fprint(stream, openMany(session, number(command[1]), number(command[2])))
		stream.Close()
	}
}

// openMany opens streams side by side, sends a pattern on each, ends it, and expects it back.
func openMany(session *yamux.Session, count, size int) string {
	var group sync.WaitGroup
	results := make([]string, count)
	for i := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			results[i] = echoOnce(session, size)
		}()
	}
	group.Wait()
	for _, result := range results {
		if result != "same" {
			return result
		}
	}
	return "same"
}

func echoOnce(session *yamux.Session, size int) string {
	stream, err := session.OpenStream()
	if err != nil {
		return "open: " + err.Error()
	}
	sent := pattern(size)
	go func() {
		stream.Write(sent)
		stream.Close()
	}()
	got, err := io.ReadAll(stream)
	if err != nil {
		return "read: " + err.Error()
	}
	if string(got) != string(sent) {
		return fmt.Sprintf("sent %d bytes, got %d others", len(sent), len(got))
	}
	return "same"
}

func pattern(size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i*7 + i>>8)
	}
	return bytes
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
