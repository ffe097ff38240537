package campaigns

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfOfAFileMayBeginWithAByteOrderMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "conf.json")
	require.NoError(t, os.WriteFile(name, []byte("\ufeff{\"sandbox\": true}"), 0o600))
	conf, err := confFlag("@" + name)
	require.NoError(t, err)
	assert.JSONEq(t, `{"sandbox": true}`, string(conf))
}
