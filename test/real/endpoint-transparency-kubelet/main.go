// A kubelet without containers: what is to be executed in one runs on this machine, in the current folder. The streams are
// those of a real kubelet, since the library is.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = time.Hour
	creation = 30 * time.Second
	logBytes = 100 << 20
)

type kubelet struct{}

// Arguments: the files of a certificate and its key. The first line of the output is the port.
func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	routes := http.NewServeMux()
	routes.HandleFunc("/exec/{namespace}/{pod}/{container}", command(func(w http.ResponseWriter, r *http.Request, options *remotecommand.Options) {
		remotecommand.ServeExec(w, r, kubelet{}, "", "", "", r.URL.Query()["command"], options, idle, creation, remotecommand.SupportedStreamingProtocols)
	}))
	routes.HandleFunc("/attach/{namespace}/{pod}/{container}", command(func(w http.ResponseWriter, r *http.Request, options *remotecommand.Options) {
		remotecommand.ServeAttach(w, r, kubelet{}, "", "", "", options, idle, creation, remotecommand.SupportedStreamingProtocols)
	}))
	routes.HandleFunc("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		portforward.ServePortForward(w, r, kubelet{}, "", "", &portforward.V4Options{}, idle, creation, portforward.SupportedProtocols)
	})
	routes.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", logs)
	server := &http.Server{Handler: routes, TLSNextProto: nil}
	panic(server.ServeTLS(listener, os.Args[1], os.Args[2]))
}

func command(serve func(http.ResponseWriter, *http.Request, *remotecommand.Options)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		options := &remotecommand.Options{}
		for name, wanted := range map[string]*bool{"input": &options.Stdin, "output": &options.Stdout, "error": &options.Stderr, "tty": &options.TTY} {
			*wanted = r.URL.Query().Get(name) == "1"
		}
		serve(w, r, options)
	}
}

// logs has lines without end where they are followed, and otherwise a great many.
func logs(w http.ResponseWriter, r *http.Request) {
	line := []byte(strings.Repeat("0123456789abcde ", 64)[:1023] + "\n")
	if r.URL.Query().Get("follow") == "" {
		for sent := 0; sent < logBytes; sent += len(line) {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
		return
	}
	for number := 1; r.Context().Err() == nil; number++ {
		fmt.Fprintln(w, "line", number)
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Println("nobody follows any more")
}

func (kubelet) ExecInContainer(ctx context.Context, _, _, _ string, args []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	process := exec.CommandContext(ctx, args[0], args[1:]...)
	// Not by the library: the end of the program is the end, whether its input has ended or not.
	input, err := process.StdinPipe()
	if err != nil {
		return err
	}
	if in != nil {
		go func() {
			io.Copy(input, in)
			input.Close()
		}()
	} else {
		input.Close()
	}
	process.Stdout = out
	if errs != nil {
		process.Stderr = errs
	}
	err = process.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// AttachContainer finds a program there that repeats what it hears.
func (kubelet) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	fmt.Fprintln(out, "attached")
	_, err := io.Copy(out, in)
	return err
}

func (kubelet) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		io.Copy(connection, stream)
		connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}
