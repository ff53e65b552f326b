package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// An event that is not heard within this time fails the measurement.
const eventLimit = 20 * time.Second

// Not counted: connections open, compilers and caches warm up.
const warmUpWrites = 10

// Opening so many at a time is slow enough for every way to keep up.
const opensAtATime = 16

var (
	heldClients []*client
	letGo       []context.CancelFunc
)

// Changes one object by the direct way, one change after the other; counts from the moment a change is sent until the last
// of the watchers has heard of it.
func events(c command) (answer, error) {
	watchers, err := newClients(c, c.Clients)
	if err != nil {
		return answer{}, err
	}
	writers, err := newClients(c, 1)
	if err != nil {
		return answer{}, err
	}
	defer closeAll(writers)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	heard := make(chan struct{}, len(watchers)*2)
	collectionURL := c.Server + c.Path[:strings.LastIndex(c.Path, "/")]
	// The changes of the round before are not to be heard again: one write says where to begin.
	version, err := writers[0].touch(ctx, c, -1)
	if err != nil {
		return answer{}, err
	}
	watchURL := collectionURL + "?watch=true&timeoutSeconds=600&resourceVersion=" + version
	if err := openAll(watchers, 1, func(one *client) error {
		// Nobody watches what it has not listed.
		if _, err := one.call(ctx, http.MethodGet, collectionURL+"?resourceVersion=0", nil, false); err != nil {
			return err
		}
		body, err := one.watch(ctx, watchURL)
		if err == nil {
			go hear(body, heard)
		}
		return err
	}); err != nil {
		return answer{}, err
	}
	var durations []time.Duration
	for i := range warmUpWrites + c.Writes {
		start := time.Now()
		written := make(chan error, 1)
		go func() {
			_, err := writers[0].touch(ctx, c, i)
			written <- err
		}()
		if err := hearAll(heard, len(watchers)); err != nil {
			return answer{}, err
		}
		elapsed := time.Since(start)
		if err := <-written; err != nil {
			return answer{}, err
		}
		if i >= warmUpWrites {
			durations = append(durations, elapsed)
		}
	}
	return answer{
		Count: len(durations), Total: warmUpWrites + c.Writes,
		P50Ms: percentile(durations, 0.5), P99Ms: percentile(durations, 0.99),
	}, nil
}

func (one *client) touch(ctx context.Context, c command, number int) (string, error) {
	body := fmt.Sprintf(`{"data":{"number":"%d-%d"}}`, time.Now().UnixNano(), number)
	response, err := one.send(ctx, http.MethodPatch, c.Direct+c.Path, strings.NewReader(body), false)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, text)
	}
	_, after, _ := bytes.Cut(text, []byte(`"resourceVersion":"`))
	version, _, _ := bytes.Cut(after, []byte(`"`))
	return string(version), nil
}

func (one *client) watch(ctx context.Context, url string) (io.ReadCloser, error) {
	response, err := one.send(ctx, http.MethodGet, url, nil, false)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.Body, nil
}

func hear(body io.ReadCloser, heard chan<- struct{}) {
	lines := bufio.NewReaderSize(body, 8<<10)
	for {
		isPrefix := true
		for isPrefix {
			var err error
			if _, isPrefix, err = lines.ReadLine(); err != nil {
				return
			}
		}
		heard <- struct{}{}
	}
}

func hearAll(heard <-chan struct{}, count int) error {
	limit := time.NewTimer(eventLimit)
	defer limit.Stop()
	for range count {
		select {
		case <-heard:
		case <-limit.C:
			return fmt.Errorf("a watcher did not hear of a change within %s", eventLimit)
		}
	}
	return nil
}

// Opens watches and keeps them, besides those that are kept already, until all are released.
func hold(c command) (answer, error) {
	clients, err := newClients(c, c.Clients)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	heldClients, letGo = append(heldClients, clients...), append(letGo, cancel)
	var lock sync.Mutex
	result := answer{}
	_ = openAll(clients, c.Streams, func(one *client) error {
		body, err := one.watch(ctx, c.Server+c.Path)
		lock.Lock()
		defer lock.Unlock()
		if err != nil {
			result.Failed++
			result.Failure = err.Error()
			return nil
		}
		result.Count++
		go func() { _, _ = io.Copy(io.Discard, body) }()
		return nil
	})
	return result, nil
}

func release(command) (answer, error) {
	for _, cancel := range letGo {
		cancel()
	}
	closeAll(heldClients)
	heldClients, letGo = nil, nil
	return answer{}, nil
}

// Every client opens its streams one after the other; the first failure is returned.
func openAll(clients []*client, streams int, open func(*client) error) error {
	turns := make(chan struct{}, opensAtATime)
	failures := make(chan error, len(clients))
	for _, one := range clients {
		turns <- struct{}{}
		go func() {
			defer func() { <-turns }()
			for range streams {
				if err := open(one); err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for range clients {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}
