package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/testdata/demo"
)

func TestRemovedPartsChangeTheReplay(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "demo.csv.gz")
	require.NoError(t, os.WriteFile(trace, demo.CSV, 0o600))
	chosen, err := choose("features,cold-start average,boosted trees,log-linear base,reach")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, options{rows: 400, parts: chosen, files: []string{trace}}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3+len(chosen))
	assert.Equal(t, "| taken out | demo |", lines[0])
	_, complete, _ := strings.Cut(strings.TrimPrefix(lines[2], "| "), " | ")
	for i, p := range chosen {
		name, cell, _ := strings.Cut(strings.TrimPrefix(lines[3+i], "| "), " | ")
		assert.Equal(t, p.name, name)
		assert.NotEqual(t, complete, cell, name)
	}
}

func TestExcludedExpertsExist(t *testing.T) {
	for _, p := range parts {
		if p.ablation.Exclude == nil {
			continue
		}
		excluded := 0
		for e := range experts.Count {
			if p.ablation.Exclude(experts.Name(e)) {
				excluded++
			}
		}
		assert.Equal(t, experts.Count/5, excluded, "%q must exclude the experts of one of five residual distributions", p.name)
	}
}

func TestChooseRejectsUnknownParts(t *testing.T) {
	chosen, err := choose("known kills,reach")
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	assert.Equal(t, "reach", chosen[1].name)
	_, err = choose("luck")
	require.ErrorContains(t, err, `unknown part "luck"; choose among features, cold-start average`)
}
