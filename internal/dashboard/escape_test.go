package dashboard_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

var filterAll store.AuditFilter

// hostile becomes markup or an attribute in a page that does not escape it. It has the character U+2044, which looks like
// a slash, because ids may not contain a slash.
const hostile = `"><script>alert(1)<` + "\u2044" + `script>'onload=x {{.}} <!--`

// The pages show texts that callers choose. None may become markup or an attribute.
func TestEveryPageEscapesTextOfCallers(t *testing.T) {
	e := newEnv(t, withoutTokens)
	task := sizing.TaskKey{Namespace: "ns" + hostile, DAG: "dag" + hostile, Task: "task" + hostile}
	e.observe(task, 40, func(run int) sizing.Features {
		return sizing.Features{"name" + hostile: sizing.TextValue(hostile), "n" + hostile: sizing.NumberValue(float64(run % 10))}
	})
	_, err := e.svc.Train(t.Context(), task)
	require.NoError(t, err)
	e.learnPhases(task, "run"+hostile)
	require.NoError(t, e.svc.SetPolicy(sizing.WithActor(t.Context(), hostile), task, sizing.Policy{Mode: sizing.Shadow}))
	allocation, err := e.svc.Predict(t.Context(), &sizing.Ask{
		Try:      sizing.TryKey{TaskKey: task, RunID: "run" + hostile, MapIndex: sizing.NoMap, Number: 1},
		Features: sizing.Features{"name" + hostile: sizing.TextValue(hostile)}, Requested: sizing.Resources{Memory: 8 * sizing.GiB},
	})
	require.NoError(t, err)
	text, err := json.Marshal(map[string]string{"output": hostile})
	require.NoError(t, err)
	c, err := e.svc.CreateCampaign(sizing.WithActor(t.Context(), hostile), campaign.Campaign{Namespace: task.Namespace, DAG: task.DAG, Name: hostile, Pool: hostile, Version: hostile, Conf: text})
	require.NoError(t, err)
	failCampaignRun(t, e, c.ID, hostile)
	require.NoError(t, e.svc.SetStructure(t.Context(), sizing.Structure{Namespace: task.Namespace, DAG: task.DAG, Tasks: []sizing.StructureTask{{TaskID: task.Task, Upstream: []string{}}}}))
	targets := append(addresses(task), "/ui/campaign?id="+fmt.Sprint(c.ID), "/ui/campaign?id="+query(hostile),
		"/ui/runtime?dag_id=a&task_id=b&risk_percent="+query(hostile), "/ui/forecast?dag_id=a&features="+query(hostile), "/ui/forecast?dag_id="+query(hostile),
		"/ui/ask?dag_id="+query(task.DAG)+"&namespace="+query(task.Namespace)+"&task_id="+query(task.Task)+"&memory="+query(hostile), "/ui/try?prediction_id="+allocation.PredictionID, "/ui/tasks?q="+query(hostile)+"&dag_id="+query(hostile),
		"/ui/savings?from=2026-01-01&dag_id="+query(hostile), "/ui/audit?dag_id="+query(hostile), "/ui/whatif?dag_id="+query(hostile)+"&floor="+query(hostile),
		"/ui/phases?namespace="+query(task.Namespace), "/ui/phases?dag_id=a&task_id="+query(hostile), "/ui/phases?dag_id=a&task_id=b&runs="+query(hostile), "/ui/profiles?namespace="+query(hostile), "/ui/profiles?id="+query(hostile),
		"/ui/task?dag_id=a&task_id="+query(hostile), "/ui/try?prediction_id="+query(hostile), "/ui/"+query(hostile), "/ui/savings?from="+query(hostile),
		"/ui/policy?dag_id="+query(task.DAG)+"&namespace="+query(task.Namespace)+"&task_id="+query(task.Task)+"&mode="+query(hostile)+"&cap="+query(hostile))
	shown := 0
	for _, target := range targets {
		rec := e.get(target)
		page := rec.Body.String()
		shown += strings.Count(page, "alert(1)")
		for _, forbidden := range []string{"<script>", "<!--", `"onload`, `'onload`, ` onload=x"`, "ZgotmplZ"} {
			assert.NotContains(t, page, forbidden, target)
		}
		for _, tag := range regexp.MustCompile(`<[a-zA-Z][^>]*>`).FindAllString(page, -1) {
			assert.NotRegexp(t, `\s(on[a-z]+|style)=`, withoutValues(tag), target)
		}
		if rec.Code == http.StatusOK {
			require.True(t, json.Valid(e.get(target+separator(target)+"format=json").Body.Bytes()), target)
		}
	}
	assert.Greater(t, shown, 100, "the pages show the names")
}

func failCampaignRun(t *testing.T, e *env, id int64, notes string) {
	t.Helper()
	_, _, err := e.svc.RegisterRuns(t.Context(), id, []campaign.ArchivedRun{{Scenario: notes, ExecutionDate: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}})
	require.NoError(t, err)
	_, err = e.svc.ClaimRuns(t.Context(), id, campaign.TriggerDeploy, 1, time.Minute)
	require.NoError(t, err)
	_, err = e.svc.ReportRun(t.Context(), id, store.RunReport{Number: 1, From: campaign.DeployTriggered, To: campaign.DeployFailed, Notes: notes})
	require.NoError(t, err)
}

func withoutValues(tag string) string {
	return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)
}

func separator(target string) string {
	if strings.Contains(target, "?") {
		return "&"
	}
	return "?"
}

func query(text string) string {
	return strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", "#", "%23", " ", "%20", "\"", "%22", "<", "%3C", ">", "%3E", ";", "%3B", "'", "%27", "{", "%7B", "}", "%7D", "\u2044", "%E2%81%84").Replace(text)
}

// No Go file outside the tests marks a text as safe markup, no template has an inline script, an inline style or an
// address of another host, and the script of the pages is short and writes no markup.
func TestNoTextBypassesTheTemplateEngine(t *testing.T) {
	files := os.DirFS(".")
	require.NoError(t, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if strings.HasSuffix(name, ".go") {
			assert.NotRegexp(t, `template\.(HTML|JS|CSS|URL|Srcset|HTMLAttr|JSStr)\b`, string(content), name)
		}
		if strings.HasSuffix(name, ".html") {
			assert.NotRegexp(t, `(?i)<style|style="|\son[a-z]+="|https?://|<script>|javascript:|src="[^{]`, string(content), name)
		}
		return err
	}))
	script, err := os.ReadFile("assets/script.js")
	require.NoError(t, err)
	assert.Less(t, len(script), 5000)
	assert.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`, string(script))
}

func TestSecurityHeadersOfPages(t *testing.T) {
	e := newEnv(t, withTokens)
	for _, target := range []string{"/ui/", "/ui/signin", "/ui/nothing", "/ui/?format=json"} {
		h := e.get(target).Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'self'", target)
		assert.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", target)
		assert.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", target)
		assert.Equal(t, "no-store", h.Get("Cache-Control"), target)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), target)
	}
}
