package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"testing"
)

// What it costs to know a caller, by the number of grants that it is compared with.
func BenchmarkKnowingACaller(b *testing.B) {
	for _, grants := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("grants=%d", grants), func(b *testing.B) {
			var auth Auth
			secret := ""
			for range grants {
				secret = rand.Text()
				auth.Tokens = append(auth.Tokens, Token{Role: RolePredict, Hash: sha256.Sum256([]byte(secret))})
			}
			r := httptest.NewRequest("POST", "/predict", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			b.ReportAllocs()
			for b.Loop() {
				if len(auth.holder(r)) != 1 {
					b.Fatal("not known")
				}
			}
		})
	}
}
