package service

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTriesThatHaveEndedTakeNoRoom(t *testing.T) {
	var ts tries
	for i := range 10_000 {
		key := sizing.TryKey{RunID: fmt.Sprint(i), Number: 1}
		assert.True(t, ts.ask(key, asked{}), "the first of its try")
		if i%1000 != 0 {
			ts.end(key)
		}
	}
	assert.Len(t, ts.asked, 10)
	assert.LessOrEqual(t, len(ts.order), 1100)
	assert.Equal(t, "0", ts.order[0].RunID, "the oldest that is open is the next to be forgotten")
}
