package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const oneRow = "dag_id,task_id,run_id,memory_max_bytes\netl,load,r,1500000000\n"

func TestInvalidServerAddressIsExplained(t *testing.T) {
	for url, hint := range map[string]string{
		"127.0.0.1:18449": "write http://127.0.0.1:18449", "localhost:18449": "write http://localhost:18449",
		"http://": "the host is missing", "ftp://localhost": "write http://localhost",
	} {
		for _, args := range [][]string{{"import", "--url", url, "-"}, {"tasks", "--url", url}} {
			code, _, stderr := invoke(t, oneRow, args...)
			assert.Equal(t, 2, code, "%v: %s", args, stderr)
			assert.Contains(t, stderr, hint, args)
		}
	}
}

// A retry cannot fix this error, so the import must end at once.
func TestImportDoesNotRetryUntrustedCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	code, _, stderr := invoke(t, oneRow, "import", "--url", server.URL, "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "SSL_CERT_FILE")
	assert.NotContains(t, stderr, "trying again")
}

func TestNegativeDurationsAreRejected(t *testing.T) {
	code, _, stderr := invoke(t, "", "serve", "--search-every", "-1h")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--search-every must not be negative: -1h0m0s")
	t.Setenv("LOADAWARE_PROMETHEUS_DELAY", "-5s")
	code, _, stderr = invoke(t, "", "serve")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "LOADAWARE_PROMETHEUS_DELAY must not be negative: -5s")
}

func TestUTF16FileIsDetected(t *testing.T) {
	var text strings.Builder
	text.WriteString("\xff\xfe")
	for _, c := range oneRow {
		text.WriteString(string(c) + "\x00")
	}
	_, _, stderr := invoke(t, text.String(), "import", "--dry-run", "-")
	assert.Contains(t, stderr, "iconv -f utf-16 -t utf-8")
}

func TestMapIndexOutOfRangeIsExplained(t *testing.T) {
	for _, index := range []string{"2147483648", "-2147483648"} {
		_, _, stderr := invoke(t, "dag_id,task_id,run_id,map_index,memory_max_bytes\netl,load,r,"+index+",1500000000\n", "import", "--dry-run", "-")
		assert.Contains(t, stderr, `"`+index+`" is not between -2147483647 and 2147483647`)
	}
}
