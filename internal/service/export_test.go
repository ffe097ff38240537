package service

// Remembered is how many tries were asked about here and have not ended.
func (s *Service) Remembered() int {
	s.tries.mu.Lock()
	defer s.tries.mu.Unlock()
	return s.tries.asked.len()
}

const FlushEvery, FlushAtMost, RetryEvery = flushEvery, flushAtMost, retryEvery
