package main

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
)

// memoryAmount is a setting in bytes, written as a Kubernetes quantity; 0 for none.
type memoryAmount sizing.Bytes

// Decode implements envconfig.Decoder.
func (a *memoryAmount) Decode(value string) error {
	if value == "" || value == "0" {
		*a = 0
		return nil
	}
	b, err := sizing.ParseMemory(value)
	if err != nil {
		return fmt.Errorf("memory amount %w, or 0 for none", err)
	}
	*a = memoryAmount(b)
	return nil
}

// Set implements flag.Value.
func (a *memoryAmount) Set(value string) error { return a.Decode(value) }

// String implements flag.Value.
func (a *memoryAmount) String() string { return sizing.Bytes(*a).String() }
