package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxVocabularies bounds the cached vocabularies, which usually take a few kilobytes each.
const maxVocabularies = 4_000

// vocabularies caches the vocabularies of tasks: the texts that the receipts of a task repeat. A vocabulary may
// lack words that another replica has added. The id of a vocabulary is never reused, but its task may be renamed
// or deleted.
type vocabularies struct {
	mu     sync.Mutex
	byTask map[sizing.TaskKey]*vocabulary
}

// get sets the values of byTask and returns the keys that are not cached. The caller holds c.mu.
func (c *vocabularies) get(byTask map[sizing.TaskKey]*vocabulary) (missing []*sizing.TaskKey) {
	for key := range byTask {
		if byTask[key] = c.byTask[key]; byTask[key] == nil {
			missing = append(missing, &key)
		}
	}
	return missing
}

// put caches vocabularies. It first drops all cached ones if the cache would become too large. The caller holds c.mu.
func (c *vocabularies) put(byTask map[sizing.TaskKey]*vocabulary) {
	if c.byTask == nil || len(c.byTask)+len(byTask) > maxVocabularies {
		c.byTask = make(map[sizing.TaskKey]*vocabulary, len(byTask))
	}
	for key, v := range byTask {
		c.byTask[key] = v
	}
}

func (c *vocabularies) remove(key sizing.TaskKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byTask, key)
}

const createNamesSQL = `
	INSERT INTO receipt_name (namespace, dag_id, task_id)
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
	ORDER BY 1, 2, 3 -- the same order for all writers prevents deadlocks
	ON CONFLICT (namespace, dag_id, task_id) DO NOTHING`

const vocabulariesSQL = `
	SELECT id, namespace, dag_id, task_id, ARRAY(SELECT word FROM receipt_word WHERE name = id ORDER BY position)
	FROM receipt_name
	JOIN unnest($1::text[], $2::text[], $3::text[]) AS wanted (namespace, dag_id, task_id) USING (namespace, dag_id, task_id)`

// loadVocabularies sets the values of byTask. It adds tasks that are missing in receipt_name. The caller holds
// s.vocabularies.mu.
func (s *Store) loadVocabularies(ctx context.Context, byTask map[sizing.TaskKey]*vocabulary) error {
	missing := s.vocabularies.get(byTask)
	if len(missing) == 0 {
		return nil
	}
	names := []any{
		column(missing, func(k *sizing.TaskKey) string { return k.Namespace }),
		column(missing, func(k *sizing.TaskKey) string { return k.DAG }),
		column(missing, func(k *sizing.TaskKey) string { return k.Task }),
	}
	if _, err := s.pool.Exec(ctx, createNamesSQL, names...); err != nil {
		return err
	}
	rows, err := s.pool.Query(ctx, vocabulariesSQL, names...)
	if err != nil {
		return err
	}
	var id int32
	var key sizing.TaskKey
	var words []string
	_, err = pgx.ForEachRow(rows, []any{&id, &key.Namespace, &key.DAG, &key.Task, &words}, func() error {
		byTask[key] = newVocabulary(id, words)
		words = nil
		return nil
	})
	if err != nil {
		return err
	}
	for _, v := range byTask {
		if v == nil {
			return errStale // the task was deleted after createNamesSQL
		}
	}
	s.vocabularies.put(byTask)
	return nil
}

const addWordsSQL = `
	INSERT INTO receipt_word (name, position, word)
	SELECT * FROM unnest($1::int[], $2::smallint[], $3::text[])
	ORDER BY 1, 2
	ON CONFLICT (name, position) DO NOTHING`

// addWords stores the pending words of vocabularies. If another replica added words to a vocabulary at
// the same time, or the statement fails, for example because the task was deleted, addWords drops the vocabulary
// from the cache. The caller holds s.vocabularies.mu.
func (s *Store) addWords(ctx context.Context, byTask map[sizing.TaskKey]*vocabulary) error {
	for key, v := range byTask {
		if len(v.pendingWords) == 0 {
			continue
		}
		pending := v.pendingWords
		v.pendingWords = nil
		ids, positions := make([]int32, len(pending)), make([]int16, len(pending))
		for i := range pending {
			ids[i], positions[i] = v.id, int16(len(v.words)+i)
		}
		tag, err := s.pool.Exec(ctx, addWordsSQL, ids, positions, pending)
		if err != nil || int(tag.RowsAffected()) < len(pending) {
			delete(s.vocabularies.byTask, key)
			if err != nil {
				return err
			}
			continue
		}
		v.add(pending)
	}
	return nil
}

const wordsSQL = `
	SELECT name, array_agg(word ORDER BY position)
	FROM receipt_word WHERE name = ANY ($1) GROUP BY name`

func readWords(ctx context.Context, q querier, ids []int32) (map[int32][]string, error) {
	words := make(map[int32][]string, len(ids))
	rows, err := q.Query(ctx, wordsSQL, ids)
	if err != nil {
		return nil, err
	}
	var id int32
	var list []string
	_, err = pgx.ForEachRow(rows, []any{&id, &list}, func() error {
		words[id], list = list, nil
		return nil
	})
	return words, err
}
