package dashboard

import (
	"net/http"
	"regexp"
)

// Start is the page with the first commands of a new user.
type Start struct {
	Base     string    `json:"base"`   // address of the API
	Tokens   bool      `json:"tokens"` // whether requests need a token
	Commands []Command `json:"commands"`
}

// Command is a command for a terminal.
type Command struct {
	Title string `json:"title"`
	Text  string `json:"command"`
}

// shellSafeHost matches a Host that is harmless in a shell command. The client chooses the Host.
var shellSafeHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]+)?$`)

func (d *Dashboard) start(req *pageRequest) (*view, error) {
	s := d.newStart(req.Request)
	return &view{Title: "Get started", Template: "start", Page: s, Table: func() ([]string, [][]string) { return startTable(&s) }}, nil
}

func (d *Dashboard) newStart(r *http.Request) Start {
	base, host := "http://", r.Host
	if usesTLS(r) {
		base = "https://"
	}
	if !shellSafeHost.MatchString(host) {
		host = "localhost"
	}
	s := Start{Base: base + host + d.cfg.Prefix, Tokens: !d.cfg.Auth.Disabled}
	token := ""
	if s.Tokens {
		token = ` -H "Authorization: Bearer $TOKEN"`
	}
	s.Commands = []Command{
		{"Predict before a launch", "curl '" + s.Base + "/predict?dag_id=my_dag&task_id=my_task&rows=1000&memory=4Gi'" + token},
		{"Report afterwards", "curl '" + s.Base + "/observe' -H 'Content-Type: application/json'" + token +
			` -d '{"dag_id": "my_dag", "task_id": "my_task", "run_id": "run_1", "outcome": "success", "memory_max": "1500Mi", "duration_seconds": 60}'`},
		{"Import a history", "loadaware import history.csv --url " + s.Base},
	}
	return s
}

func startTable(s *Start) (header []string, table [][]string) {
	for _, c := range s.Commands {
		table = append(table, []string{c.Title, c.Text})
	}
	return []string{"title", "command"}, table
}
