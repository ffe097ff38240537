package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/pglocal"
)

const doctorUsage = `[flags]

Looks at a deployment and says what is wrong in plain words, and what to do. Run it
with the settings of serve: it looks at the database, the certificate, and Prometheus
and Airflow if they are set. It also looks at a server: that of --url, else the one that
holds the data folder, else, where no database is named, the one at --addr. It changes
nothing.
Exit code 1 if something is wrong; what is only to be minded leaves it at 0.`

// A finding is something that is wrong, or to be minded, and what to do about it.
type finding struct {
	Check string `json:"check"`
	Wrong bool   `json:"wrong"` // else it is only to be minded
	Says  string `json:"says"`
	Do    string `json:"do"`
}

// diagnosis is all that was looked at.
type diagnosis struct {
	Looked   []string  `json:"looked"`
	Findings []finding `json:"findings"`
	now      func() time.Time
	free     float64 // share of a disk below which it is nearly full
}

func newDiagnosis() *diagnosis {
	return &diagnosis{Looked: []string{}, Findings: []finding{}, now: time.Now, free: 0.1}
}

func (d *diagnosis) looked(check string) { d.Looked = append(d.Looked, check) }

func (d *diagnosis) wrong(check, do, says string, args ...any) {
	d.Findings = append(d.Findings, finding{check, true, fmt.Sprintf(says, args...), do})
}

func (d *diagnosis) mind(check, do, says string, args ...any) {
	d.Findings = append(d.Findings, finding{check, false, fmt.Sprintf(says, args...), do})
}

func doctor(ctx context.Context, con console, args []string) error {
	cmd := newCommand("doctor", doctorUsage, "database", "data", "addr", "tokens", "tokens-file", "tls-cert", "tls-key", "tls-client-ca", "url")
	output := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || *output != "text" && *output != "json" {
		return usageErrorf("doctor takes no arguments, and -o is text or json")
	}
	d := newDiagnosis()
	d.examine(ctx, cmd, con)
	return d.tell(con, *output)
}

// lookFor bounds each part of the examination.
const lookFor = time.Minute

func (d *diagnosis) examine(ctx context.Context, cmd *command, con console) {
	dsn, stop := d.find(ctx, cmd, con)
	defer stop()
	parts := []func(context.Context, *config){d.tokens, d.certificate, d.kept, d.prometheus, d.airflow, d.server}
	for _, part := range parts {
		bounded, cancel := context.WithTimeout(ctx, lookFor)
		part(bounded, &cmd.config)
		cancel()
	}
	if dsn == "" {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, 5*lookFor)
	defer cancel()
	d.database(bounded, dsn)
	if cmd.DatabaseURL == "" {
		d.disk(cmd.Data)
	}
}

// find returns the database to look at, "" if there is none to be had. Then a server that
// runs is looked at in its place, unless --url names one.
func (d *diagnosis) find(ctx context.Context, cmd *command, con console) (dsn string, stop func()) {
	none := func() {}
	if cmd.DatabaseURL == "" && !exists(cmd.Data) {
		d.looked("database")
		running := cmp.Or(cmd.URL, cmd.serverAt(cmd.Addr))
		if newServerRecorder(running, "").answers(ctx) {
			cmd.URL = running
			d.mind("database", "set DATABASE_URL as the server has it, or name its data folder by --data",
				"the database was not looked at, only the server at %s: DATABASE_URL is not set, and there is no folder %s", running, cmd.Data)
			return "", none
		}
		d.wrong("database", "set DATABASE_URL, or name the folder of a private database by --data",
			"there is no database to look at: DATABASE_URL is not set, there is no folder %s, and no server answers at %s", cmd.Data, running)
		return "", none
	}
	dsn, stop, err := findDatabase(ctx, &cmd.config, "", cmd.logger(con))
	var held *pglocal.InUseError
	if errors.As(err, &held) {
		looked, do := "", "; or give the address of that server by --url to have the server looked at"
		if cmd.URL == "" && held.Addr != "" {
			cmd.URL = cmd.serverAt(held.Addr)
		}
		if cmd.URL != "" {
			looked, do = "; the server was looked at in its place", ""
		}
		d.mind("database", "stop the server to have its private database looked at"+do, "the private database is in use: %v%s", held, looked)
		return "", none
	}
	d.looked("database")
	if err != nil {
		d.wrong("database", "see what it says", "the private database does not start: %v", err)
		return "", none
	}
	return dsn, stop
}

// serverAt is the URL of a server with this configuration at an address.
func (c *config) serverAt(addr string) string {
	if c.TLSCert != "" {
		return "https://" + addr
	}
	return "http://" + addr
}

func (d *diagnosis) tell(con console, output string) error {
	wrong := 0
	for _, f := range d.Findings {
		if f.Wrong {
			wrong++
		}
	}
	if output == "json" {
		encoder := json.NewEncoder(con.out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(d); err != nil {
			return err
		}
	} else {
		for _, f := range d.Findings {
			mark := "mind "
			if f.Wrong {
				mark = "WRONG"
			}
			fmt.Fprintf(con.out, "%s  %s: %s\n       do: %s\n", mark, f.Check, f.Says, f.Do)
		}
		fmt.Fprintf(con.out, "looked at %d things: %d wrong, %d to be minded\n", len(d.Looked), wrong, len(d.Findings)-wrong)
	}
	if wrong > 0 {
		return fmt.Errorf("%d things are wrong", wrong)
	}
	return nil
}
