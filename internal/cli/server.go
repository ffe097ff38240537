package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Server returns a client of the server that --url or --into names, or else LOADAWARE_URL, or else LOADAWARE_ADDR.
func (cmd *Command) Server() *client.Client {
	return client.New(cmp.Or(cmd.URL, "http://"+cmd.Addr), cmd.Token)
}

// NamespaceFlag defines the flag --namespace.
func (cmd *Command) NamespaceFlag() *string {
	return cmd.String("namespace", sizing.DefaultNamespace, "namespace of the task, which identifies the Airflow deployment")
}

// TaskArgument parses the task at the start of `args`, from DAG TASK or DAG/TASK, and returns the other
// arguments. `command` is the name of the command in error messages.
func TaskArgument(command, namespace string, args []string) (sizing.TaskKey, []string, error) {
	key := sizing.TaskKey{Namespace: namespace}
	missing := UsageErrorf("name the task as DAG TASK, or as DAG/TASK; see loadaware %s --help", command)
	if len(args) == 0 {
		return key, nil, missing
	}
	rest := args[1:]
	var joined bool
	if key.DAG, key.Task, joined = strings.Cut(args[0], "/"); !joined { // ids contain no slash
		if len(rest) == 0 {
			return key, nil, missing
		}
		key.Task, rest = rest[0], rest[1:]
	}
	if bad := key.Validate(); len(bad) > 0 {
		return key, nil, UsageErrorf("%s %s; see loadaware %s --help", bad[0].Field, bad[0].Detail, command)
	}
	return key, rest, nil
}

// ExplainNotFound adds advice to a response 404 about a task.
func ExplainNotFound(err error) error {
	if client.IsStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%w; loadaware tasks lists the known tasks", err)
	}
	return err
}

// TextOrNil returns a pointer to a text, or nil for an empty text, so that the request omits the field.
func TextOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
