package api

// BatchPrediction is one answer of a batch: either a Prediction or {"error": {…}}. oapi-codegen cannot generate it.
type BatchPrediction struct {
	*Prediction
	Error *Problem `json:"error,omitempty"`
}
