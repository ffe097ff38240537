package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

func (b *bench) printModel(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.env.db.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var blob []byte
	const sql = `SELECT blob FROM model JOIN task ON task.id = model.task AND task.active_version = model.version WHERE task_id = $1`
	if err := conn.QueryRow(ctx, sql, predictedTask).Scan(&blob); err != nil {
		return err
	}
	m, err := taskmodel.Open(blob)
	if err != nil {
		return err
	}
	trees := 0
	if m.Models.Trees != nil {
		trees = m.Models.Trees.Trees() + m.Models.Resid.Trees()
	}
	if m.Models.Spread != nil {
		trees += m.Models.Spread.Trees()
	}
	b.printf("model: %d runs, %d trees, %d weighted experts, %d bytes stored", b.runs, trees, len(m.Experts.Picks), len(blob))
	return nil
}
