package airflow

import "regexp"

// These patterns equal those in features.py of the provider. A text may be a secret if its name matches secretName. A
// number or a bool may be a secret only if its name matches secretNumber: token_count and num_tokens are counts.
var (
	secretName = regexp.MustCompile(`(?i)passw|credential|authorization|(?:api|access|private)[^a-z]?key|` +
		`secret(?:a?$|[^a]|a[^r])|token(?:i?$|[^i]|i[^sz])`) // not secretary, tokenizer, tokenised
	secretNumber = regexp.MustCompile(`(?i)(?:passw[a-z]*|secret|token|credentials?|authorization|` +
		`(?:api|access|private|secret)[^a-z]?key)[^a-z]*$`)
)

func isSecret(name string, value any) bool {
	if _, isText := value.(string); isText {
		return secretName.MatchString(name)
	}
	return secretNumber.MatchString(name)
}
