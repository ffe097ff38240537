// Package airflow reads what an Airflow remembers of its runs, over its stable REST
// API, and puts it in the words of sizing.
//
//	2.x   /api/v1, basic auth or a bearer token
//	3.x   /api/v2, a bearer token, given or fetched from POST /auth/token
//
//	Runs       ended runs, oldest end first, page by page
//	Instances  the task instances of such runs
//	Tries      earlier tries of one instance
//	Params     what the tasks of a DAG declare
//	Observe    one try as an observation, or why it is none
//
// What a try used is not Airflow's to know: somebody else adds the peak.
package airflow
