package service

// InFlight returns the number of tries that were predicted here and have not ended.
func (s *Service) InFlight() int { return s.tries.Len() }
