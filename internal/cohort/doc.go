// Package cohort sizes the first run of a task from the runs of the other tasks in its namespace.
//
//	rows ─▶ Learner ─▶ encoder ─▶ boosted trees ─▶ level (log bytes)
//	           │       numbers, and target            +
//	           │       statistics of categories     margin: one of the errors on
//	           └─▶ errors on unseen tasks ────────▶ tasks that the trees had not seen
//
// The facts of a task are its metadata, names, features and request. A category is encoded by
// ordered target statistics: the mean target of the trees (log(peak), or log(peak/request)) over the earlier tasks with
// the same value, so that the statistics do not contain the task's own peaks. The margin comes from errors on tasks that
// the model had not learned, because it sizes only such tasks. The margin is wider for a task of a new DAG or with a new name.
//
// The package also predicts the run time (RunTimes), the usage profile (Profiles) and the shape of the
// run times (Shapes) of tasks with no or few runs.
//
// The package reads no clock and does no I/O. The same rows in the same order give the same Model.
package cohort
