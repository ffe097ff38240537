// Runs the scenario of docs/clients.md with the typescript-fetch client of openapi-generator.
import assert from "node:assert/strict";
import {
  AskApi, Configuration, FeatureFieldKindEnum, LiftRequestReasonEnum, LiftVerdictEnum, Mode, Outcome, PolicyRequestModeEnum,
  ProblemFromJSON, ResponseError, ServiceApi, Source, TasksApi, TellApi, instanceOfItemError, instanceOfPrediction,
  type Observation, type PredictRequest, type Problem, type Receipt,
} from "../generated/typescript-fetch/index.js";

const GIB = 2 ** 30;
const env = (name: string): string => process.env[name] ?? assert.fail(`${name} is not set`);
const dagId = "clients";
const taskId = env("STORY_TASK"); // a task that only this client uses
const features = { product_count: 1253, discount: 0.25, region: "emea", promo: true, sale_end: "2020-02-05" };

const configuration = new Configuration({ basePath: env("LOADAWARE_URL"), accessToken: env("LOADAWARE_TOKEN") });
const ask = new AskApi(configuration);
const tell = new TellApi(configuration);
const tasks = new TasksApi(configuration);
const service = new ServiceApi(configuration);

const newPredictRequest = (runId: string, more: Partial<PredictRequest> = {}): PredictRequest =>
  ({ dagId, taskId, runId, requested: { memory: "8Gi", cpu: "2" }, ...more });
const report = (runId: string, outcome: Outcome, more: Partial<Observation> = {}): Observation =>
  ({ dagId, taskId, runId, outcome, features, ...more });

// problemOf parses the answer of a call that must fail.
async function problemOf(call: Promise<unknown>, status: number): Promise<Problem> {
  const rejection = await call.then(() => assert.fail("accepted"), (e: unknown) => e);
  assert.ok(rejection instanceof ResponseError, String(rejection));
  assert.equal(rejection.response.status, status);
  return ProblemFromJSON(await rejection.response.json());
}

// receiptOf waits for a receipt, which the service stores shortly after the answer.
async function receiptOf(predictionId: string): Promise<Receipt> {
  for (let i = 0; i < 100; i++) {
    try {
      return await tasks.getReceipt({ predictionId });
    } catch (e) {
      if (!(e instanceof ResponseError && e.response.status === 404)) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  return assert.fail(`no receipt of ${predictionId}`);
}

const steps = {
  async predict() {
    const answer = await ask.predict({ predictRequest: newPredictRequest("run-1", { features }) });
    assert.equal(answer.source, Source.Requested);
    assert.equal(answer.mode, Mode.Enforce);
    assert.equal(answer.memory?.requestBytes, 8 * GIB);
    assert.equal(answer.cpu?.requestCores, 2);
    assert.deepEqual(answer.ladderBytes, [8 * GIB, 16 * GIB, 32 * GIB, 128 * GIB]);
    assert.equal(answer.risk.promised, null);
    assert.equal(answer.risk.target, 0.015);
    assert.ok(answer.model == null && answer.bins == null && answer.shadow == null); // undefined in older clients
    const receipt = await receiptOf(answer.predictionId);
    assert.deepEqual(receipt.ask.features, features);
    assert.equal(receipt.answer.memory?.requestBytes, 8 * GIB);
    assert.ok(receipt.answeredAt instanceof Date);
  },

  async predictWithAModel() {
    const inputs = { product_count: 1253, store_count: 12, region: "emea", execution_date: "2020-02-01" };
    const answer = await ask.predict({ predictRequest: { dagId: "pricing", taskId: "predict_demand", features: inputs } });
    assert.equal(answer.source, Source.Model);
    assert.ok(answer.model && answer.bins && answer.duration && answer.memory && answer.ladderBytes);
    assert.ok(answer.model.trainedAt instanceof Date && answer.model.version >= 1 && answer.model.observations > 100);
    assert.ok(answer.risk.promised !== null && answer.risk.promised > 0 && answer.risk.promised < 1);
    assert.equal(answer.ladderBytes[0], answer.memory.limitBytes);
    assert.ok(answer.duration.medianSeconds <= answer.duration.p95Seconds);
    assert.ok(Math.abs(answer.bins.probabilities.reduce((sum, p) => sum + p) - 1) < 0.01);
  },

  async observe() {
    const success = report("run-1", Outcome.Success, { memoryMaxBytes: 5 * GIB, durationSeconds: 60.5, cpuMaxCores: 1.5 });
    const first = await tell.observe({ observation: success });
    assert.deepEqual([first.recorded, first.duplicate], [true, false]);
    for (const warning of first.warnings ?? []) assert.ok(warning.field && warning.detail);
    assert.equal((await tell.observe({ observation: success })).duplicate, true);
    const killed = report("run-2", Outcome.OomKilled, { durationSeconds: 30, allocated: { memoryBytes: 4 * GIB } });
    assert.equal((await tell.observe({ observation: killed })).recorded, true);
  },

  async lift() {
    const failed = { memoryBytes: 4 * GIB };
    const reason = LiftRequestReasonEnum.OomKilled;
    const lifted = await ask.retryLift({ liftRequest: { dagId, taskId, runId: "run-2", reason, failed, maxMemory: "64Gi" } });
    assert.deepEqual([lifted.retry, lifted.verdict, lifted.attempt], [true, LiftVerdictEnum.Lift, 2]);
    assert.ok(lifted.memory && lifted.memory.requestBytes > 4 * GIB);
    const evicted = await ask.retryLift({ liftRequest: { dagId, taskId, runId: "run-3", reason: LiftRequestReasonEnum.Evicted, failed } });
    assert.deepEqual([evicted.retry, evicted.verdict], [false, LiftVerdictEnum.NotMemory]);
    assert.ok(evicted.memory == null);
  },

  async batch() {
    const bad = newPredictRequest("run-5", { requested: { memory: "350GiB" } });
    const { predictions } = await ask.predictBatch({ predictBatchRequest: { tasks: [newPredictRequest("run-4"), bad] } });
    const [good, rejected] = predictions;
    assert.ok(good && instanceOfPrediction(good) && good.memory && good.memory.requestBytes > 0);
    assert.ok(rejected && instanceOfItemError(rejected));
    assert.equal(rejected.error.status, 422);
    assert.equal(rejected.error.errors?.[0]?.field, "tasks[1].requested.memory");
  },

  async profile() {
    const known = await tasks.getTask({ dagId, taskId });
    assert.deepEqual([known.observations, known.kills, known.largestPeakBytes], [2, 1, 5 * GIB]);
    const { Number, Category, Bool, Date: date } = FeatureFieldKindEnum;
    assert.deepEqual(Object.fromEntries(known.features.map((f) => [f.name, f.kind])),
      { product_count: Number, discount: Number, region: Category, promo: Bool, sale_end: date });
    assert.ok(known.lastSeen instanceof Date);
    const learned = await tasks.getTask({ dagId: "pricing", taskId: "predict_demand" });
    assert.ok(learned.champion && learned.champion.version >= 1 && learned.exam && learned.memoryBytes);
    assert.ok(learned.memoryBytes.p50 <= learned.memoryBytes.max);
    assert.ok((await tasks.listTasks({ namespace: "default" })).tasks.some((t) => t.taskId === taskId));
    assert.ok((await tasks.listModels({ dagId: "pricing", taskId: "predict_demand" })).models[0]?.trainedAt instanceof Date);
  },

  async policy() {
    const policyRequest = { mode: PolicyRequestModeEnum.Shadow, cap: "384Gi", riskTarget: 0.01, maxLifts: null };
    const put = await tasks.putPolicy({ dagId, taskId, policyRequest });
    const got = await tasks.getPolicy({ dagId, taskId });
    assert.deepEqual(put, got);
    assert.deepEqual([got.mode, got.capBytes, got.floorBytes], [Mode.Shadow, 384 * GIB, null]);
    assert.equal((await tasks.putPolicy({ dagId, taskId, policyRequest: {} })).mode, Mode.Enforce);
    const { entries } = await tasks.listAudit({ dagId, taskId });
    assert.equal(entries[0]?.after?.["mode"], "enforce");
  },

  async errors() {
    const wrong = newPredictRequest("run-6", { requested: { memory: "350GiB", cpu: "lots" } });
    const problem = await problemOf(ask.predict({ predictRequest: wrong }), 422);
    assert.equal(problem.status, 422);
    assert.deepEqual(problem.errors?.map((e) => e.field), ["requested.memory", "requested.cpu"]);
    assert.equal(problem.type, "urn:loadaware:problem:invalid");
    assert.equal((await problemOf(tasks.getTask({ dagId, taskId: "unknown" }), 404)).status, 404);
  },
};

assert.equal((await service.health()).status, "ok");
for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log("ok", name);
}
