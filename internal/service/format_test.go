package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// While versions of the program run side by side, or after one was taken back, a stored
// model may be of a format that a replica does not know.
func TestAModelOfAFormatThatIsNotKnownStopsNobody(t *testing.T) {
	old := newReplica(t).start()
	old.taught("load", 40)
	old.until(func() bool { return old.answer(ask("load", "")).Model != nil }, "the model answers")
	good := old.answer(ask("load", ""))
	require.Equal(t, sizing.FromModel, good.Source)
	_, err := old.Train(t.Context(), task("load"))
	require.NoError(t, err)
	old.until(func() bool { return old.version("load") == 2 }, "the second version answers")
	good = old.answer(ask("load", ""))
	next := fitting.FormatVersion + 1
	old.sql(`UPDATE model SET format = $1, blob = set_byte(blob, 5, $1) WHERE version = 2`, next)

	same(t, good, old.answer(ask("load", "")), "what runs goes on by what it has")
	fresh := join(t, old.dsn, service.Config{}).start()
	fallback := fresh.answer(ask("load", "r"))
	assert.Nil(t, fallback.Model)
	assert.Positive(t, fallback.Memory.Limit, "it answers all the same")
	assert.LessOrEqual(t, fallback.Memory.Limit, 64*gib, "and not above the static request")
	assert.True(t, fresh.Readiness().Ready)

	report, err := fresh.Train(t.Context(), task("load"))
	require.NoError(t, err)
	require.True(t, report.Published, "a training needs no champion: %s", report.Reason)
	fresh.until(func() bool { return fresh.version("load") == 3 }, "and heals it")
	assert.Equal(t, sizing.FromModel, fresh.answer(ask("load", "")).Source)
}
