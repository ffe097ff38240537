package csvtext

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormulasAreText(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, []string{"dag_id", "saved_gbh"}, [][]string{
		{"=cmd()", "-1.5"}, {"+1+2", "1e-07"}, {"-2+3", "+4"}, {"@SUM(A1)", ""}, {"\tx", "NaN"}, {"a=b", "-"}, {"ä,ö", "–"},
	}))
	assert.Equal(t, "dag_id,saved_gbh\n'=cmd(),-1.5\n'+1+2,1e-07\n'-2+3,+4\n'@SUM(A1),\n'\tx,NaN\na=b,'-\n\"ä,ö\",–\n", out.String())
	out.Reset()
	require.NoError(t, Write(&out, []string{"a"}, nil))
	assert.Equal(t, "a\n", out.String())
}
