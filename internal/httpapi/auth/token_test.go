package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sha(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func TestParseTokenReadsNameRoleScopeAndHash(t *testing.T) {
	hash := sha256.Sum256([]byte("se:cret"))
	for text, want := range map[string]Token{
		"observe:":                {Role: RoleObserve},
		"campaign:":               {Role: RoleCampaign},
		"observe@team-a:":         {Role: RoleObserve, Namespace: "team-a"},
		"observe@team-a/etl_:":    {Role: RoleObserve, Namespace: "team-a", DAGPrefix: "etl_"},
		"observe@/etl_:":          {Role: RoleObserve, DAGPrefix: "etl_"},
		"ops.2=admin:":            {Name: "ops.2", Role: RoleAdmin},
		"airflow=predict@a=b/c@:": {Name: "airflow", Role: RolePredict, Namespace: "a=b", DAGPrefix: "c@"},
	} {
		want.Hash = hash
		for _, digits := range []string{sha("se:cret"), strings.ToUpper(sha("se:cret"))} {
			got, err := ParseToken(text + digits)
			require.NoError(t, err, text)
			assert.Equal(t, want, got)
		}
	}
}

// A grant is a text such as NAME=ROLE@NAMESPACE/DAG_PREFIX:HASH. A secret token may be in any place of a malformed
// grant, most likely in place of the hash.
func TestParseTokenErrorsDoNotRepeatTheText(t *testing.T) {
	for _, text := range []string{
		"", "s3cret", "predict:", "predict:s3cret", "s3cret:predict", "predict:" + sha("x")[1:], "predict:" + sha("x") + "00", "predict:g" + sha("x")[1:],
		"root:" + sha("x"), "predict@:" + sha("x"), "predict@a/b/c:" + sha("x"), "predict@a/:" + sha("x"), ":" + sha("x"),
		"=predict:" + sha("x"), "s3 cret=predict:" + sha("x"), "s3cret/=predict:" + sha("x"), "watchdog=admin:" + sha("x"),
	} {
		_, err := ParseToken(text)
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "s3", text)
	}
}

// FuzzParseToken requires that an accepted token has a known role, and that an error does not repeat a text of more than
// 20 bytes after the first colon, which may be a secret token. A shorter text may be in the error by chance.
func FuzzParseToken(f *testing.F) {
	hash := strings.Repeat("a1", 32)
	for _, seed := range []string{"admin:" + hash, "me=predict@ns/dag_:" + hash, "observe@:" + hash, "admin:secret-secret", ":", "@/:", "a=b=c:d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil {
			require.Contains(t, []Role{RolePredict, RoleObserve, RoleCampaign, RoleAdmin}, token.Role)
			return
		}
		if _, hash, ok := strings.Cut(text, ":"); ok && len(hash) > 20 {
			require.NotContains(t, err.Error(), hash)
		}
	})
}

func TestCallersAreTokensWithAllTheirGrants(t *testing.T) {
	hash := sha256.Sum256([]byte("a"))
	tokens := []Token{{Name: "1", Hash: hash}, {Name: "2", Hash: sha256.Sum256([]byte("b"))}, {Name: "3", Hash: hash}}
	callers := Config{Tokens: tokens}.Callers()
	require.Len(t, callers, 2)
	assert.Equal(t, Grants{&tokens[0], &tokens[2]}, callers[0])
	assert.Equal(t, Grants{&tokens[1]}, callers[1])
	assert.Empty(t, Config{}.Callers())
	assert.Equal(t, []Grants{{&localCaller}}, Config{Disabled: true}.Callers())
}
