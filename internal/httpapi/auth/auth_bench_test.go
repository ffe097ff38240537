package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"testing"
)

// BenchmarkIdentify measures how the time of Identify grows with the number of configured grants.
func BenchmarkIdentify(b *testing.B) {
	for _, grants := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("grants=%d", grants), func(b *testing.B) {
			var cfg Config
			secret := ""
			for range grants {
				secret = rand.Text()
				cfg.Tokens = append(cfg.Tokens, Token{Role: RolePredict, Hash: sha256.Sum256([]byte(secret))})
			}
			r := httptest.NewRequest("POST", "/predict", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			b.ReportAllocs()
			for b.Loop() {
				if len(cfg.Identify(r)) != 1 {
					b.Fatal("the token is not identified")
				}
			}
		})
	}
}
