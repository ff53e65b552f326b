// The only program of a container in the tests: what kubectl runs in pods, without anything to pull or to link with.
package main

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

var tools = map[string]func([]string) error{
	"cat":   cat,
	"env":   environment,
	"fail":  func([]string) error { os.Exit(7); return nil },
	"host":  host,
	"main":  serve,
	"pause": pause,
	"sum":   sum,
	"tar":   archive,
	"test":  isFolder,
	"tty":   terminal,
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "toolbox" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	tool, ok := tools[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such tool:", name)
		os.Exit(127)
	}
	if err := tool(args); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func pause([]string) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	return nil
}

// serve counts on standard output, repeats what it hears, and answers HTTP on the loopback port it is given.
func serve(args []string) error {
	go func() {
		for number := 1; ; number++ {
			fmt.Println("tick", number)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			fmt.Println("heard", lines.Text())
		}
	}()
	go http.ListenAndServe("127.0.0.1:"+args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.New()
		size, _ := io.Copy(hash, r.Body)
		fmt.Fprintf(w, "%d bytes %x", size, hash.Sum(nil))
	}))
	return pause(nil)
}

// host answers HTTP on the port it is given, on all addresses, with the name of its machine.
func host(args []string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	go http.ListenAndServe(":"+args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprintln(w, name)
	}))
	return pause(nil)
}

// cat repeats files, or what it hears without any.
func cat(args []string) error {
	if len(args) == 0 {
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	}
	for _, name := range args {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		os.Stdout.Write(content)
	}
	return nil
}

// environment tells the variables, or becomes another program for which some are set: "env NAME=VALUE /PROGRAM ARGUMENT".
func environment(args []string) error {
	for len(args) > 0 && strings.Contains(args[0], "=") {
		name, value, _ := strings.Cut(args[0], "=")
		os.Setenv(name, value)
		args = args[1:]
	}
	if len(args) > 0 {
		return syscall.Exec(args[0], args, os.Environ())
	}
	fmt.Println(strings.Join(os.Environ(), "\n"))
	return nil
}

func sum(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	fmt.Printf("%x\n", hash.Sum(nil))
	return nil
}

func isFolder(args []string) error {
	if info, err := os.Stat(args[len(args)-1]); err != nil || !info.IsDir() {
		os.Exit(1)
	}
	return nil
}

// terminal tells the size of the terminal that it runs on.
func terminal([]string) error {
	var size [4]uint16
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); err != 0 {
		return err
	}
	fmt.Printf("a terminal of %d lines; say something\n", size[0])
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Printf("heard %s\n", strings.TrimSpace(line))
	return err
}

// archive does what "kubectl cp" asks of tar: "cf - PATH" and "-xmf - -C FOLDER".
func archive(args []string) error {
	if strings.Contains(args[0], "c") {
		return pack(args[len(args)-1])
	}
	return unpack(args[len(args)-1])
}

func pack(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	writer := tar.NewWriter(os.Stdout)
	header := &tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o644, Size: info.Size(), ModTime: info.ModTime()}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(writer, file); err != nil {
		return err
	}
	return writer.Close()
}

func unpack(folder string) error {
	reader := tar.NewReader(os.Stdin)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(folder, filepath.Base(header.Name)))
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, reader); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
}
