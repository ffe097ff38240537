package config

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestZeroDisablesSearch(t *testing.T) {
	t.Setenv("LOADAWARE_SEARCH_EVERY", "0")
	cfg := Defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Zero(t, cfg.SearchEvery)
	t.Setenv("LOADAWARE_SEARCH_EVERY", "90m")
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, 90*time.Minute, cfg.SearchEvery)
}

func TestNegativeDurationsAreListedInFixedOrder(t *testing.T) {
	cfg := Config{SearchEvery: -1, PrometheusDelay: -1, PrometheusWithin: -1, PrometheusEvery: -1}
	for range 20 { // the order of a map would differ between calls
		require.EqualError(t, cfg.CheckDurations(), `--search-every must not be negative: -1ns
LOADAWARE_PROMETHEUS_DELAY must not be negative: -1ns
LOADAWARE_PROMETHEUS_WITHIN must not be negative: -1ns
LOADAWARE_PROMETHEUS_EVERY must not be negative: -1ns`)
	}
}

func TestMinMemoryIsAQuantity(t *testing.T) {
	cfg := Defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, MemoryAmount(64*sizing.MiB), cfg.MinMemory)
	for value, want := range map[string]sizing.Bytes{"128Mi": 128 * sizing.MiB, "0": 0, "1G": 1e9} {
		t.Setenv("LOADAWARE_MIN_MEMORY", value)
		require.NoError(t, envconfig.Process("loadaware", &cfg))
		assert.Equal(t, MemoryAmount(want), cfg.MinMemory)
	}
	t.Setenv("LOADAWARE_MIN_MEMORY", "some")
	assert.ErrorContains(t, envconfig.Process("loadaware", &cfg), `"some" is not a quantity`)
}

func TestPricesAreNumbers(t *testing.T) {
	cfg := Defaults()
	t.Setenv("LOADAWARE_PRICE_GB_HOUR", "0.005")
	t.Setenv("LOADAWARE_PRICE_CURRENCY", "EUR")
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, []any{Price(0.005), Price(0), "EUR"}, []any{cfg.PriceGBHour, cfg.PriceCore, cfg.Currency})
	for _, bad := range []string{"-1", "5 EUR", "NaN", "Inf"} {
		t.Setenv("LOADAWARE_PRICE_CORE_HOUR", bad)
		assert.ErrorContains(t, envconfig.Process("loadaware", &cfg), "without a currency", bad)
	}
}

func TestModelMemoryIsAQuarterOfTheLimitUnlessSet(t *testing.T) {
	assert.Equal(t, MemoryAmount(sizing.GiB), defaultModelMemory(0), "without a memory limit")
	assert.Equal(t, MemoryAmount(128*sizing.MiB), defaultModelMemory(512<<20))
	t.Setenv("LOADAWARE_MODEL_MEMORY", "512MiB")
	cfg := Defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, MemoryAmount(512*sizing.MiB), cfg.ModelMemory)
}

func TestUnsetRetentionAgesHaveDefaults(t *testing.T) {
	t.Setenv("LOADAWARE_KEEP_RECEIPTS", "0")
	t.Setenv("LOADAWARE_KEEP_OBSERVATIONS", "240h")
	cfg := Defaults()
	require.NoError(t, envconfig.Process("loadaware", &cfg))
	assert.Equal(t, RetentionAges{Observations: 10 * 24 * time.Hour, Experiments: 365 * 24 * time.Hour}, cfg.Keep)
}

func TestLogFormatIsTextOrJSON(t *testing.T) {
	logLine := func() string {
		cfg := Defaults()
		require.NoError(t, envconfig.Process("loadaware", &cfg))
		var out bytes.Buffer
		cfg.Logger(&out).Info("trained", "task", "etl.load")
		return out.String()
	}
	assert.Contains(t, logLine(), "msg=trained task=etl.load")
	t.Setenv("LOADAWARE_LOG_FORMAT", "json")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(logLine()), &line))
	assert.Equal(t, "trained", line["msg"])
	assert.Equal(t, "etl.load", line["task"])

	t.Setenv("LOADAWARE_LOG_FORMAT", "xml")
	cfg := Defaults()
	assert.ErrorContains(t, envconfig.Process("loadaware", &cfg), "LOADAWARE_LOG_FORMAT")
}
