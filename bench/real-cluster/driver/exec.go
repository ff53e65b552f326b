package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const execLimit = 10 * time.Second

// What the far end of an exec sends after the upgrade, as fast as it comes. Nobody on the way looks into these bytes, so they
// need not be SPDY.
func exec(c command) (answer, error) {
	config, err := tlsConfig(c.CAFile)
	if err != nil {
		return answer{}, err
	}
	config.NextProtos = []string{"http/1.1"}
	server, err := url.Parse(c.Server)
	if err != nil {
		return answer{}, err
	}
	socket, err := tls.Dial("tcp", server.Host, config)
	if err != nil {
		return answer{}, err
	}
	defer socket.Close()
	_ = socket.SetDeadline(time.Now().Add(execLimit + 2*time.Duration(c.Ms)*time.Millisecond))
	head := "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
		"X-Stream-Protocol-Version: v4.channel.k8s.io\r\nUser-Agent: causeway-bench/1.0\r\nContent-Length: 0\r\n\r\n"
	if _, err := fmt.Fprintf(socket, head, c.Path, server.Host, c.Tokens[0]); err != nil {
		return answer{}, err
	}
	reader := bufio.NewReaderSize(socket, 256<<10)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return answer{}, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return answer{}, fmt.Errorf("%s: %s", response.Status, text)
	}
	return received(reader, time.Duration(c.Ms)*time.Millisecond)
}

func received(reader io.Reader, length time.Duration) (answer, error) {
	buffer := make([]byte, 256<<10)
	warm := time.Now().Add(length / 3)
	end := warm.Add(length)
	var bytes int64
	for {
		count, err := reader.Read(buffer)
		now := time.Now()
		if now.After(end) {
			return answer{Count: 1, Bytes: bytes, Seconds: now.Sub(warm).Seconds()}, nil
		}
		if err != nil {
			return answer{}, err
		}
		if now.After(warm) {
			bytes += int64(count)
		}
	}
}
