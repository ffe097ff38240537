package dashboard

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

func TestReaderGrantsHaveOneCallerForEachScope(t *testing.T) {
	d := &Dashboard{cfg: Config{Auth: auth.Config{Tokens: []auth.Token{
		{Name: "a", Role: auth.RoleAdmin, Hash: [32]byte{1}}, {Name: "b", Role: auth.RolePredict, Hash: [32]byte{2}},
		{Name: "c", Role: auth.RoleObserve, Namespace: "blue", Hash: [32]byte{3}}, {Name: "d", Role: auth.RoleCampaign, DAGPrefix: "x", Hash: [32]byte{4}},
	}}}}
	all := d.readerGrants()
	require.Len(t, all, 2, "a and b have the same scope, and d may read no list")
	assert.Equal(t, []string{"a", "c"}, []string{all[0][0].Name, all[1][0].Name})

	d.cfg.Auth.Tokens = d.cfg.Auth.Tokens[2:]
	d.cfg.Proxy.Header = "X-Forwarded-User"
	assert.Len(t, d.readerGrants(), 2, "c has the scope blue, and users of a proxy read all tasks")

	for i := range byte(20) {
		d.cfg.Auth.Tokens = append(d.cfg.Auth.Tokens, auth.Token{Role: auth.RoleAdmin, Hash: [32]byte{9, i}, Namespace: string('a' + rune(i))})
	}
	assert.Len(t, d.readerGrants(), warmScopes)
}

func TestRunReturnsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := &Dashboard{} // without callers it reads nothing
	d.Run(ctx)
}
