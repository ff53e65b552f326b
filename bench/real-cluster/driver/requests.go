package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// A failing way must not be asked in a tight loop.
const pauseAfterFailure = 50 * time.Millisecond

type tally struct {
	durations []time.Duration
	bytes     int64
	failed    int
	failure   string
	succeeded int
}

// The same GET from every client, one after the other, until the time is up. What is done before a third of it again is over
// does not count, nor does the opening of connections.
func requests(c command) (answer, error) {
	clients, err := newClients(c, c.Clients)
	if err != nil {
		return answer{}, err
	}
	defer closeAll(clients)
	if err := openAll(clients, 1, func(one *client) error {
		_, err := one.call(context.Background(), http.MethodGet, c.Server+c.Path, nil, c.Gzip)
		return err
	}); err != nil {
		return answer{}, err
	}
	warm := time.Now().Add(time.Duration(c.Ms) * time.Millisecond / 3)
	end := warm.Add(time.Duration(c.Ms) * time.Millisecond)
	tallies := make([]tally, len(clients))
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { clients[i].repeat(c, warm, end, &tallies[i]) })
	}
	group.Wait()
	return summed(tallies, time.Since(warm)), nil
}

func (one *client) repeat(c command, warm, end time.Time, t *tally) {
	for {
		start := time.Now()
		if start.After(end) {
			return
		}
		bytes, err := one.call(context.Background(), http.MethodGet, c.Server+c.Path, nil, c.Gzip)
		if err != nil {
			t.failed++
			t.failure = err.Error()
			time.Sleep(pauseAfterFailure)
			continue
		}
		t.succeeded++
		if start.After(warm) {
			t.durations = append(t.durations, time.Since(start))
			t.bytes += bytes
		}
	}
}

func summed(tallies []tally, elapsed time.Duration) answer {
	var all tally
	for _, t := range tallies {
		all.durations = append(all.durations, t.durations...)
		all.bytes += t.bytes
		all.succeeded += t.succeeded
		all.failed += t.failed
		if t.failure != "" {
			all.failure = t.failure
		}
	}
	return answer{
		Count: len(all.durations), Total: all.succeeded, Bytes: all.bytes, Seconds: elapsed.Seconds(),
		P50Ms: percentile(all.durations, 0.5), P99Ms: percentile(all.durations, 0.99),
		Failed: all.failed, Failure: all.failure,
	}
}
