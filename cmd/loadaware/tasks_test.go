package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEmptyListOfTasksNamesItsCause(t *testing.T) {
	server := startWithHistory(t)
	token, granted := newToken(t, "--role", "predict", "--namespace", "blue")
	scoped := startServer(t, append(database(t), "LOADAWARE_TOKENS="+granted))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"another DAG":       {[]string{"--url", server.url, "--dag", "sales"}, `no task is of DAG "sales"; other DAGs have 1 task` + "\n"},
		"another namespace": {[]string{"--url", server.url, "--namespace", "blue"}, `no task is in namespace "blue"; omit --namespace to list all` + "\n"},
		"a narrow token":    {[]string{"--url", scoped.url, "--token", token}, "the server has no tasks in the scope of the token; "},
		"an empty server":   {[]string{"--url", startServer(t, database(t)).url}, "the server has no tasks yet; "},
	} {
		code, out, stderr := invoke(t, "", append([]string{"tasks"}, c.args...)...)
		assert.Zero(t, code, stderr)
		assert.Contains(t, out, c.want, name)
	}
}
