package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// The values of the flag -route.
const (
	roundRobin = "round-robin" // each request goes to the next replica
	byTask     = "by-task"     // by a consistent hash of the header Loadaware-Task
)

//go:embed nginx.conf
var nginxConf string

var nginxTemplate = template.Must(template.New("nginx.conf").Parse(nginxConf))

type proxy struct {
	url    string
	dir    string
	cmd    *exec.Cmd
	ended  chan struct{} // closed after the process has ended
	result error         // the result of cmd.Wait; set before `ended` is closed
}

// startProxy starts nginx from PATH and waits until it accepts connections.
func startProxy(ctx context.Context, replicas []*testcluster.Replica, route string) (*proxy, error) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		return nil, fmt.Errorf("start a proxy for several replicas: %w; install nginx", err)
	}
	port, err := testcluster.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "loadaware-nginx-")
	if err != nil {
		return nil, err
	}
	listen := "127.0.0.1:" + port
	p := &proxy{url: "http://" + listen, dir: dir, ended: make(chan struct{})}
	if err := p.configure(listen, replicas, route); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.cmd = exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "nginx.log") //nolint:gosec // the program is nginx
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { p.result = p.cmd.Wait(); close(p.ended) }()
	if err := p.await(ctx, listen); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *proxy) configure(listen string, replicas []*testcluster.Replica, route string) error {
	addresses := make([]string, len(replicas))
	for i, replica := range replicas {
		addresses[i] = strings.TrimPrefix(replica.URL, "http://")
	}
	file, err := os.Create(filepath.Join(p.dir, "nginx.conf"))
	if err != nil {
		return err
	}
	err = nginxTemplate.Execute(file, map[string]any{"Listen": listen, "Replicas": addresses, "ByTask": route == byTask})
	return errors.Join(err, file.Close())
}

func (p *proxy) await(ctx context.Context, address string) error {
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return fmt.Errorf("nginx ended before it accepted a connection: %w", p.result)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *proxy) close() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that nginx has ended
	<-p.ended
	return os.RemoveAll(p.dir)
}
