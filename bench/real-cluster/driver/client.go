package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
)

// One pod: a connection and a token.
type client struct {
	http      *http.Client
	transport *http.Transport
	token     string
}

func newClients(c command, count int) ([]*client, error) {
	config, err := tlsConfig(c.CAFile)
	if err != nil {
		return nil, err
	}
	if len(c.Tokens) == 0 {
		return nil, fmt.Errorf("there are no tokens")
	}
	clients := make([]*client, count)
	for i := range clients {
		transport := &http.Transport{
			TLSClientConfig:    config.Clone(),
			ForceAttemptHTTP2:  true,
			DisableCompression: true,
			ReadBufferSize:     32 << 10,
		}
		clients[i] = &client{&http.Client{Transport: transport}, transport, c.Tokens[i%len(c.Tokens)]}
	}
	return clients, nil
}

func tlsConfig(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", caFile)
	}
	return &tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}, nil
}

func closeAll(clients []*client) {
	for _, one := range clients {
		one.transport.CloseIdleConnections()
	}
}

func (one *client) send(ctx context.Context, method, url string, body io.Reader, gzip bool) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+one.token)
	request.Header.Set("User-Agent", "causeway-bench/1.0")
	request.Header.Set("Accept", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	// Said by hand the answer stays compressed: what it costs to read it is no part of the way.
	if gzip {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	return one.http.Do(request)
}

// Reads an answer to its end.
func (one *client) call(ctx context.Context, method, url string, body io.Reader, gzip bool) (int64, error) {
	response, err := one.send(ctx, method, url, body, gzip)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return 0, fmt.Errorf("%s: %s", response.Status, text)
	}
	return io.Copy(io.Discard, response.Body)
}

func percentile(durations []time.Duration, fraction float64) float64 {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	index := min(len(durations)-1, int(float64(len(durations))*fraction))
	return float64(durations[index].Nanoseconds()) / 1e6
}
