package importer

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/client"
)

func TestUnreadFilesAreNamedIfServerIsUnavailable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	var names []string
	for _, name := range []string{"a.csv", "b.csv"} {
		name = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(name, []byte("dag_id,task_id,run_id,memory_max_bytes\nd,t,r,1000000000\n"), 0o600))
		names = append(names, name)
	}
	var out, errors bytes.Buffer
	server := client.New("http://"+closed.Addr().String(), "")
	server.RetryFor = 50 * time.Millisecond
	i := New(Console{Out: &out, Err: &errors}, 10)
	i.Target = server
	err = i.Files(t.Context(), names)
	assert.ErrorContains(t, err, "a.csv: gave up after")
	assert.Contains(t, errors.String(), "not read: "+names[1])
}
