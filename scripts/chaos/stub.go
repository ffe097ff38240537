package main

import "context"

func overload(ctx context.Context, s *sheet) error { return nil }
