package main

import (
	"encoding/json"
	"net/http"
)

// echo returns the handler of the minimal server with which bench-http compares the service.
func echo() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // fails only if the caller has closed the connection
	})
	return mux
}
