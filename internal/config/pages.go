package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Pages are the settings of the pages at /ui/. The variables are LOADAWARE_UI_PREFIX and so on.
type Pages struct {
	Prefix         PathPrefix   `envconfig:"PREFIX"`          // path at which a reverse proxy serves the pages
	FrameAncestors FrameSources `envconfig:"FRAME_ANCESTORS"` // origins that may frame the pages
	Key            SessionKey   `envconfig:"KEY"`             // signs sessions; random if empty
}

// PathPrefix is the path under which a reverse proxy serves the pages; empty at the root.
type PathPrefix string

// Decode implements envconfig.Decoder.
func (p *PathPrefix) Decode(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Path != value || value != "" && !strings.HasPrefix(value, "/") || strings.HasPrefix(value, "//") || strings.ContainsAny(value, "\\ ;,\"'<>") {
		return fmt.Errorf("path prefix %q: must be a path such as /loadaware", value)
	}
	*p = PathPrefix(strings.TrimRight(value, "/"))
	return nil
}

// FrameSources are sources of the frame-ancestors directive of a content security policy.
type FrameSources string

// Decode implements envconfig.Decoder.
func (f *FrameSources) Decode(value string) error {
	if strings.ContainsAny(value, ";,\r\n") {
		return fmt.Errorf("frame ancestors %q: must be origins separated by spaces, such as https://airflow.example.org", value)
	}
	*f = FrameSources(strings.TrimSpace(value))
	return nil
}

// SessionKey is the secret that signs sessions.
type SessionKey string

// minKey is the minimum number of characters of a SessionKey.
const minKey = 32

// Decode implements envconfig.Decoder.
func (k *SessionKey) Decode(value string) error {
	if value != "" && len(value) < minKey {
		return fmt.Errorf("session key: must have at least %d characters; create one with 'openssl rand -hex 32'", minKey)
	}
	*k = SessionKey(value)
	return nil
}
