package main

import "context"

func rolling(ctx context.Context, s *sheet) error  { return nil }
func overload(ctx context.Context, s *sheet) error { return nil }
