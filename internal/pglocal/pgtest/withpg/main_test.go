package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRunReturnsTheExitCodeOfTheCommand(t *testing.T) {
	code, err := run([]string{"/bin/sh", "-c", "exit 3"})
	assert.NoError(t, err)
	assert.Equal(t, 3, code)
}

func TestRunFailsIfTheCommandDoesNotStart(t *testing.T) {
	code, err := run([]string{"/no/such/command"})
	assert.Error(t, err)
	assert.Equal(t, 1, code)
}
