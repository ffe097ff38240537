package auth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTokensFileSeparatesGrantsByLinesOrCommas(t *testing.T) {
	grant := func(role Role) string {
		_, hash := NewSecret()
		return string(role) + ":" + hash + "\n"
	}
	one, two := grant(RoleAdmin), grant(RolePredict)
	for text, want := range map[string]int{one: 1, one + two: 2, strings.TrimSpace(one) + "," + two: 2, "\n" + one + "\n\n": 1, "\ufeff" + one + two: 2} {
		file := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		tokens, first, err := LoadTokens("", file)
		require.NoError(t, err)
		assert.Nil(t, first)
		assert.Len(t, tokens, want)
	}
}
