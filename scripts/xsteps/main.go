package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/loadaware/loadaware/internal/backtest"
)

func main() {
	pol := "loadaware"
	if len(os.Args) > 2 {
		pol = os.Args[2]
	}
	b, _ := os.ReadFile(os.Args[1])
	t, err := backtest.Read("t.csv.gz", bytes.NewReader(b), backtest.Selection{})
	if err != nil {
		panic(err)
	}
	_, err = backtest.Run(context.Background(), t, backtest.Config{Policies: []string{pol}, OnStep: func(s backtest.Step) {
		p := -1.0
		if s.Promised != nil {
			p = *s.Promised
		}
		fmt.Printf("%s\t%.4f\t%.4f\t%.1f\t%.5f\t%v\t%.3f\n", s.Question.Try.DAG+"/"+s.Question.Try.Task, float64(s.Limit)/1e9, float64(s.Peak)/1e9, s.Duration.Seconds(), p, s.ColdStart, float64(s.Requested.Memory)/1e9)
	}})
	if err != nil {
		panic(err)
	}
}
