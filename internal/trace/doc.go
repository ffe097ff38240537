// Package trace reads and writes history: what tries of tasks used, as files.
//
//	CSV    one try a row; the columns are those of Columns, then feature.<name>
//	JSONL  one try a line, in the words of POST /observe
//
// Both may be plain or gzip; which of them a stream is, is told from its first
// bytes. Reading is one pass in constant memory, and a row that cannot be read
// costs itself only: the rows after it are read.
//
// It knows the words of sizing and nothing of servers, stores or learning.
package trace
