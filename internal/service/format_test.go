package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// During an upgrade, or after a downgrade, a stored model may have a format that a replica does not know.
func TestAModelOfAnUnknownFormatIsIgnored(t *testing.T) {
	old := newReplica(t).start()
	old.trainTask("load", 40)
	old.waitFor(func() bool { return old.predict(ask("load", "")).Model != nil }, "the model must answer")
	good := old.predict(ask("load", ""))
	require.Equal(t, sizing.FromModel, good.Source)
	_, err := old.Train(t.Context(), task("load"))
	require.NoError(t, err)
	old.waitFor(func() bool { return old.modelVersion("load") == 2 }, "the second version must answer")
	good = old.predict(ask("load", ""))
	next := taskmodel.FormatVersion + 1
	old.exec(`UPDATE model SET format = $1, blob = set_byte(blob, 5, $1) WHERE version = 2`, next)

	assertSame(t, good, old.predict(ask("load", "")), "a running replica keeps its model")
	restarted := joinReplica(t, old.dsn, service.Config{}).start()
	fallback := restarted.predict(ask("load", "r"))
	assert.Nil(t, fallback.Model)
	assert.Positive(t, fallback.Memory.Limit, "the fallback answers")
	assert.LessOrEqual(t, fallback.Memory.Limit, 64*gib, "the fallback grants at most the static request")
	assert.True(t, restarted.Readiness().Ready)

	report, err := restarted.Train(t.Context(), task("load"))
	require.NoError(t, err)
	require.True(t, report.Published, "a training needs no champion: %s", report.Reason)
	restarted.waitFor(func() bool { return restarted.modelVersion("load") == 3 }, "the new model must replace the unknown one")
	assert.Equal(t, sizing.FromModel, restarted.predict(ask("load", "")).Source)
}
