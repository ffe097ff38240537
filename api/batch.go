package api

// BatchPrediction is one answer of a batch: either a Prediction or {"error": {…}}.
type BatchPrediction struct {
	*Prediction
	Error *Problem `json:"error,omitempty"`
}
