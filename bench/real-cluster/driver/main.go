// The load of the bench, a process of its own: one command in JSON a line on standard input, one answer a line on standard
// output. Every client has a connection and a token of its own, as every pod has, and speaks HTTP/2 where it is offered.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

type command struct {
	Op string `json:"op"`
	// Base address of the way that is measured.
	Server string `json:"server"`
	// Base address of the API server itself, for writes.
	Direct  string   `json:"direct"`
	CAFile  string   `json:"caFile"`
	Tokens  []string `json:"tokens"`
	Path    string   `json:"path"`
	Gzip    bool     `json:"gzip"`
	Clients int      `json:"clients"`
	// Streams of one client, where it can have several on a connection.
	Streams int `json:"streams"`
	Writes  int `json:"writes"`
	Ms      int `json:"ms"`
}

type answer struct {
	Error string `json:"error,omitempty"`
	Count int    `json:"count"`
	// Requests that succeeded, or changes that were heard, those before the measurement began included.
	Total   int     `json:"total"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	P50Ms   float64 `json:"p50Ms"`
	P99Ms   float64 `json:"p99Ms"`
	// Answers other than 2xx, with the first of them in words.
	Failed  int    `json:"failed"`
	Failure string `json:"failure,omitempty"`
	// Processor time of this process during the command.
	CPUMs float64 `json:"cpuMs"`
}

var operations = map[string]func(command) (answer, error){
	"requests": requests,
	"events":   events,
	"hold":     hold,
	"release":  release,
	"exec":     exec,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		text, _ := json.Marshal(perform(lines.Bytes()))
		fmt.Println(string(text))
	}
}

func perform(line []byte) answer {
	var c command
	if err := json.Unmarshal(line, &c); err != nil {
		return answer{Error: err.Error()}
	}
	operation, found := operations[c.Op]
	if !found {
		return answer{Error: "nothing here is called " + c.Op}
	}
	startMs := cpuMs()
	result, err := operation(c)
	if err != nil {
		return answer{Error: err.Error()}
	}
	result.CPUMs = cpuMs() - startMs
	return result
}

func cpuMs() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}
