// Runs the scenario of docs/clients.md with the types of openapi-typescript and openapi-fetch.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "../generated/openapi-typescript/schema.js";

type Schemas = components["schemas"];

const GIB = 2 ** 30;
const env = (name: string): string => process.env[name] ?? assert.fail(`${name} is not set`);
const dag_id = "clients";
const task_id = env("STORY_TASK"); // a task that only this client uses
const task = { params: { path: { dag_id, task_id } } };
const trainedTask = { params: { path: { dag_id: "pricing", task_id: "predict_demand" } } };
const features = { product_count: 1253, discount: 0.25, region: "emea", promo: true, sale_end: "2020-02-05" };

const client = createClient<paths>({
  baseUrl: env("LOADAWARE_URL"),
  headers: { Authorization: `Bearer ${env("LOADAWARE_TOKEN")}` },
});

const newPredictRequest = (run_id: string, more: Partial<Schemas["PredictRequest"]> = {}): Schemas["PredictRequest"] =>
  ({ dag_id, task_id, run_id, requested: { memory: "8Gi", cpu: "2" }, ...more });
const report = (run_id: string, outcome: Schemas["Outcome"], more: Partial<Schemas["Observation"]> = {}): Schemas["Observation"] =>
  ({ dag_id, task_id, run_id, outcome, features, ...more });

// value returns the data of an answer that must be a success.
async function value<T>(call: Promise<{ data?: T; error?: Schemas["Problem"] }>): Promise<T> {
  const { data, error } = await call;
  return data ?? assert.fail(`${error?.status} ${error?.detail}`);
}

// receiptOf waits for a receipt, which the service stores shortly after the answer.
async function receiptOf(prediction_id: string): Promise<Schemas["Receipt"]> {
  for (let i = 0; i < 100; i++) {
    const { data, error } = await client.GET("/predictions/{prediction_id}", { params: { path: { prediction_id } } });
    if (data) return data;
    assert.equal(error.status, 404);
    await new Promise((done) => setTimeout(done, 100));
  }
  return assert.fail(`no receipt of ${prediction_id}`);
}

const steps = {
  async predict() {
    const answer = await value(client.POST("/predict", { body: newPredictRequest("run-1", { features }) }));
    const source: Schemas["Source"] = answer.source;
    assert.equal(source, "requested");
    assert.equal(answer.memory?.request_bytes, 8 * GIB);
    assert.equal(answer.cpu?.request_cores, 2);
    assert.deepEqual(answer.ladder_bytes, [8 * GIB, 16 * GIB, 32 * GIB, 128 * GIB]);
    assert.deepEqual([answer.risk.promised, answer.risk.target], [null, 0.015]);
    assert.deepEqual([answer.model, answer.bins, answer.shadow], [null, null, null]);
    const receipt = await receiptOf(answer.prediction_id);
    assert.deepEqual(receipt.ask.features, features);
  },

  async predictWithAModel() {
    const inputs = { product_count: 1253, store_count: 12, region: "emea", execution_date: "2020-02-01" };
    const answer = await value(client.POST("/predict", { body: { ...trainedTask.params.path, features: inputs } }));
    assert.equal(answer.source, "model");
    assert.ok(answer.model && answer.bins && answer.duration && answer.memory && answer.ladder_bytes);
    assert.ok(answer.model.version >= 1 && !Number.isNaN(Date.parse(answer.model.trained_at)));
    assert.ok(answer.risk.promised !== null && answer.risk.promised > 0 && answer.risk.promised < 1);
    assert.equal(answer.ladder_bytes[0], answer.memory.limit_bytes);
    assert.ok(answer.duration.median_seconds <= answer.duration.p95_seconds);
    assert.ok(Math.abs(answer.bins.probabilities.reduce((sum, p) => sum + p) - 1) < 0.01);
  },

  async observe() {
    const success = report("run-1", "success", { memory_max_bytes: 5 * GIB, duration_seconds: 60.5, cpu_max_cores: 1.5 });
    const first = await value(client.POST("/observe", { body: success }));
    assert.deepEqual([first.recorded, first.duplicate], [true, false]);
    for (const warning of first.warnings ?? []) assert.ok(warning.field && warning.detail);
    assert.equal((await value(client.POST("/observe", { body: success }))).duplicate, true);
    const killed = report("run-2", "oom_killed", { duration_seconds: 30, allocated: { memory_bytes: 4 * GIB } });
    assert.equal((await value(client.POST("/observe", { body: killed }))).recorded, true);
  },

  async lift() {
    const failed = { memory_bytes: 4 * GIB };
    const body = { dag_id, task_id, run_id: "run-2", reason: "oom_killed", failed, max_memory: "64Gi" } as const;
    const lifted = await value(client.POST("/retry-lift", { body }));
    assert.deepEqual([lifted.retry, lifted.verdict, lifted.attempt], [true, "lift", 2]);
    assert.ok(lifted.memory && lifted.memory.request_bytes > 4 * GIB);
    const evicted = await value(client.POST("/retry-lift", { body: { dag_id, task_id, run_id: "run-3", reason: "evicted", failed } }));
    assert.deepEqual([evicted.retry, evicted.verdict, evicted.memory], [false, "not_memory", null]);
  },

  async batch() {
    const bad = newPredictRequest("run-5", { requested: { memory: "350GiB" } });
    const { predictions } = await value(client.POST("/predict/batch", { body: { tasks: [newPredictRequest("run-4"), bad] } }));
    const [good, rejected] = predictions;
    assert.ok(good && "prediction_id" in good && good.memory && good.memory.request_bytes > 0);
    assert.ok(rejected && "error" in rejected);
    assert.equal(rejected.error.status, 422);
    assert.equal(rejected.error.errors?.[0]?.field, "tasks[1].requested.memory");
  },

  async profile() {
    const known = await value(client.GET("/tasks/{dag_id}/{task_id}", task));
    assert.deepEqual([known.observations, known.kills, known.largest_peak_bytes], [2, 1, 5 * GIB]);
    const kinds: Record<string, Schemas["FeatureField"]["kind"]> = Object.fromEntries(known.features.map((f) => [f.name, f.kind]));
    assert.deepEqual(kinds, { product_count: "number", discount: "number", region: "category", promo: "bool", sale_end: "date" });
    const demo = await value(client.GET("/tasks/{dag_id}/{task_id}", trainedTask));
    assert.ok(demo.champion && demo.champion.version >= 1 && demo.exam && demo.memory_bytes);
    assert.ok(demo.memory_bytes.p50 <= demo.memory_bytes.max);
    const { tasks } = await value(client.GET("/tasks", { params: { query: { namespace: "default" } } }));
    assert.ok(tasks.some((t) => t.task_id === task_id));
  },

  async policy() {
    const path = "/tasks/{dag_id}/{task_id}/policy";
    const put = await value(client.PUT(path, { ...task, body: { mode: "shadow", cap: "384Gi", risk_target: 0.01, max_lifts: null } }));
    const got = await value(client.GET(path, task));
    assert.deepEqual(put, got);
    assert.deepEqual([got.mode, got.cap_bytes, got.floor_bytes], ["shadow", 384 * GIB, null]);
    assert.equal((await value(client.PUT(path, { ...task, body: {} }))).mode, "enforce");
    const { entries } = await value(client.GET("/audit", { params: { query: { dag_id, task_id } } }));
    assert.equal(entries[0]?.after?.["mode"], "enforce");
  },

  async errors() {
    const wrong = newPredictRequest("run-6", { requested: { memory: "350GiB", cpu: "lots" } });
    const { error, response } = await client.POST("/predict", { body: wrong });
    assert.ok(error);
    assert.deepEqual([response.status, error.status, error.type], [422, 422, "urn:loadaware:problem:invalid"]);
    assert.deepEqual(error.errors?.map((e) => e.field), ["requested.memory", "requested.cpu"]);
    const missing = await client.GET("/tasks/{dag_id}/{task_id}", { params: { path: { dag_id, task_id: "unknown" } } });
    assert.equal(missing.error?.status, 404);
  },
};

assert.equal((await value(client.GET("/healthz"))).status, "ok");
for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log("ok", name);
}
