package main

import (
	"context"
	"fmt"
)

const experimentUsage = `run [flags]

Tries binnings, families and oversampling on the history of tasks, and compares
what they would have granted. See loadaware experiment run --help.`

// experiments are what can be done with experiments, in the order of --help.
func experiments() []verb {
	return []verb{
		{"run", "try binnings, families and oversampling on a history", runExperiment},
	}
}

func experimentVerb(ctx context.Context, con console, args []string) error {
	if len(args) > 0 {
		for _, v := range experiments() {
			if v.name == args[0] {
				return v.run(ctx, con, args[1:])
			}
		}
	}
	cmd := newCommand("experiment", experimentUsage)
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usageErrorf("say what to do: loadaware experiment --help lists it")
	}
	return usageErrorf("there is no %q of experiments: loadaware experiment --help lists what there is", fmt.Sprint(rest[0]))
}
