package main

import (
	"encoding/json"
	"net/http"
)

// echo is what the service is held against: net/http and encoding/json with nothing
// between them. It reads a body and writes it back.
func echo() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // a caller who went away needs no answer
	})
	return mux
}
