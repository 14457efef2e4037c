// Package kit is what the benchmarks' targets have in common: how a target says that it is ready, hears commands, and
// ends. A target writes one line of JSON to its standard output when it is ready, and ends when its standard input does,
// so that no target outlives the program that started it.
//
// It links nothing that would make one target's process heavier than another's.
package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// Address is what a target says that serves HTTP or gRPC.
type Address struct {
	Address string `json:"address"`
}

// Say writes one line of JSON to the standard output.
func Say(facts any) error {
	line, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(line))
	return err
}

// Commands calls do for each line of the standard input until it ends or do fails. A nil do waits for the end.
func Commands(do func(line string) error) error {
	scanner := bufio.NewScanner(os.Stdin)
	for scanner.Scan() {
		if do == nil {
			continue
		}
		if err := do(scanner.Text()); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// Serve serves a handler on a free port of loopback until the standard input ends.
func Serve(handler http.Handler) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	err = errors.Join(Say(Address{l.Addr().String()}), Commands(nil))
	err = errors.Join(err, server.Close())
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

// Main runs a target and ends the process.
func Main(name string, run func() error) {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
