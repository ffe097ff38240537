package api

// BatchPrediction is one answer of a batch: exactly one of its parts is set, and
// it is written as a Prediction or as {"error": {…}}.
type BatchPrediction struct {
	*Prediction
	Error *Problem `json:"error,omitempty"`
}
