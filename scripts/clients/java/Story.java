import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AskApi;
import org.openapitools.client.api.ServiceApi;
import org.openapitools.client.api.TasksApi;
import org.openapitools.client.api.TellApi;
import org.openapitools.client.model.*;

/** Runs the scenario of docs/clients.md with the Java client of openapi-generator, in its default form (okhttp and Gson). */
public final class Story {
  private static final long GIB = 1L << 30;
  private static final String DAG = "clients";
  private static final String TASK = System.getenv("STORY_TASK"); // a task that only this client uses
  private static final Map<String, Object> FEATURES =
      Map.of("product_count", 1253.0, "discount", 0.25, "region", "emea", "promo", true, "sale_end", "2020-02-05");

  private static final AskApi ask;
  private static final TellApi tell;
  private static final TasksApi tasks;
  private static final ServiceApi service;

  static {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("LOADAWARE_URL"));
    client.setBearerToken(System.getenv("LOADAWARE_TOKEN"));
    ask = new AskApi(client);
    tell = new TellApi(client);
    tasks = new TasksApi(client);
    service = new ServiceApi(client);
  }

  private interface Step {
    void run() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    checkEqual(Health.StatusEnum.OK, service.health().getStatus());
    run("predict", Story::predict);
    run("predict with a model", Story::predictWithAModel);
    run("observe", Story::observe);
    run("lift", Story::lift);
    run("batch", Story::batch);
    run("profile", Story::profile);
    run("policy", Story::policy);
    run("errors", Story::errors);
    System.exit(0); // otherwise idle threads of okhttp would delay the exit
  }

  private static void run(String name, Step step) throws Exception {
    step.run();
    System.out.println("ok " + name);
  }

  private static void predict() throws Exception {
    Prediction answer = ask.predict(newPredictRequest("run-1", "8Gi").features(FEATURES));
    checkEqual(Source.REQUESTED, answer.getSource());
    checkEqual(Mode.ENFORCE, answer.getMode());
    checkEqual(8 * GIB, answer.getMemory().getRequestBytes());
    checkEqual(2.0, answer.getCpu().getRequestCores());
    checkEqual(List.of(8 * GIB, 16 * GIB, 32 * GIB, 128 * GIB), answer.getLadderBytes());
    checkEqual(null, answer.getRisk().getPromised());
    checkEqual(0.015, answer.getRisk().getTarget());
    check(answer.getModel() == null && answer.getBins() == null && answer.getShadow() == null, answer);

    Receipt receipt = receiptOf(answer.getPredictionId());
    checkEqual(FEATURES, receipt.getAsk().getFeatures());
    checkEqual(8 * GIB, receipt.getAnswer().getMemory().getRequestBytes());
    check(receipt.getAnsweredAt().isBefore(OffsetDateTime.now().plusMinutes(1)), receipt);
  }

  private static void predictWithAModel() throws Exception {
    Prediction answer =
        ask.predict(
            new PredictRequest()
                .dagId("pricing")
                .taskId("predict_demand")
                .features(Map.of("product_count", 1253, "store_count", 12, "region", "emea", "execution_date", "2020-02-01")));
    checkEqual(Source.MODEL, answer.getSource());
    check(answer.getModel().getVersion() >= 1 && answer.getModel().getObservations() > 100, answer.getModel());
    check(answer.getModel().getTrainedAt().isBefore(OffsetDateTime.now().plusMinutes(1)), answer.getModel());
    check(answer.getRisk().getPromised() > 0 && answer.getRisk().getPromised() < 1, answer.getRisk());
    checkEqual(answer.getMemory().getLimitBytes(), answer.getLadderBytes().get(0));
    check(answer.getDuration().getMedianSeconds() <= answer.getDuration().getP95Seconds(), answer.getDuration());
    double sum = answer.getBins().getProbabilities().stream().mapToDouble(Double::doubleValue).sum();
    check(Math.abs(sum - 1) < 0.01, answer.getBins());
  }

  private static void observe() throws Exception {
    Observation success =
        report("run-1", Outcome.SUCCESS).memoryMaxBytes(5 * GIB).durationSeconds(60.5).cpuMaxCores(1.5);
    for (boolean duplicate : new boolean[] {false, true}) {
      Recorded answer = tell.observe(success);
      check(answer.getRecorded() && answer.getDuplicate() == duplicate, answer);
      if (answer.getWarnings() != null) {
        answer.getWarnings().forEach(w -> check(!w.getField().isEmpty() && !w.getDetail().isEmpty(), w));
      }
    }
    Observation killed =
        report("run-2", Outcome.OOM_KILLED).durationSeconds(30.0).allocated(new Resources().memoryBytes(4 * GIB));
    check(tell.observe(killed).getRecorded(), killed);
  }

  private static void lift() throws Exception {
    FailedMemory failed = new FailedMemory().memoryBytes(4 * GIB);
    LiftRequest request = new LiftRequest().dagId(DAG).taskId(TASK).failed(failed);
    Lift lifted = ask.retryLift(request.runId("run-2").reason(LiftRequest.ReasonEnum.OOM_KILLED).maxMemory("64Gi"));
    check(lifted.getRetry() && lifted.getVerdict() == Lift.VerdictEnum.LIFT && lifted.getAttempt() == 2, lifted);
    check(lifted.getMemory().getRequestBytes() > 4 * GIB, lifted);

    Lift evicted = ask.retryLift(request.runId("run-3").reason(LiftRequest.ReasonEnum.EVICTED));
    check(!evicted.getRetry() && evicted.getVerdict() == Lift.VerdictEnum.NOT_MEMORY, evicted);
    checkEqual(null, evicted.getMemory());
  }

  private static void batch() throws Exception {
    PredictBatchRequest request =
        new PredictBatchRequest().tasks(List.of(newPredictRequest("run-4", "8Gi"), newPredictRequest("run-5", "350GiB")));
    List<PredictionOrError> answers = ask.predictBatch(request).getPredictions();
    check(answers.get(0).getPrediction().getMemory().getRequestBytes() > 0, answers.get(0));
    Problem problem = answers.get(1).getItemError().getError();
    checkEqual(422, problem.getStatus());
    checkEqual("tasks[1].requested.memory", problem.getErrors().get(0).getField());
  }

  private static void profile() throws Exception {
    TaskProfile known = tasks.getTask(DAG, TASK, null);
    check(known.getObservations() == 2 && known.getKills() == 1, known);
    checkEqual(5 * GIB, known.getLargestPeakBytes());
    checkEqual(
        Map.of(
            "product_count", FeatureField.KindEnum.NUMBER,
            "discount", FeatureField.KindEnum.NUMBER,
            "region", FeatureField.KindEnum.CATEGORY,
            "promo", FeatureField.KindEnum.BOOL,
            "sale_end", FeatureField.KindEnum.DATE),
        known.getFeatures().stream().collect(Collectors.toMap(FeatureField::getName, FeatureField::getKind)));
    check(known.getLastSeen().isBefore(OffsetDateTime.now().plusMinutes(1)), known);
    checkEqual(Mode.ENFORCE, known.getPolicy().getMode());

    TaskProfile learned = tasks.getTask("pricing", "predict_demand", null);
    check(learned.getChampion().getVersion() >= 1 && !learned.getExam().isEmpty(), learned);
    check(learned.getMemoryBytes().getP50() <= learned.getMemoryBytes().getMax(), learned);
    check(tasks.listTasks("default", null, null).getTasks().stream().anyMatch(t -> t.getTaskId().equals(TASK)), TASK);
  }

  private static void policy() throws Exception {
    PolicyRequest request = new PolicyRequest().mode(PolicyRequest.ModeEnum.SHADOW).cap("384Gi").riskTarget(0.01);
    Policy put = tasks.putPolicy(DAG, TASK, request, null);
    Policy got = tasks.getPolicy(DAG, TASK, null);
    checkEqual(put, got);
    checkEqual(Mode.SHADOW, got.getMode());
    checkEqual(384 * GIB, got.getCapBytes());
    checkEqual(null, got.getFloorBytes());
    checkEqual(Mode.ENFORCE, tasks.putPolicy(DAG, TASK, new PolicyRequest(), null).getMode());
    checkEqual("enforce", tasks.listAudit(null, DAG, TASK, null, null).getEntries().get(0).getAfter().get("mode"));
  }

  private static void errors() throws Exception {
    PredictRequest wrong = newPredictRequest("run-6", "350GiB");
    wrong.getRequested().cpu("lots");
    Problem problem = problemOf(422, () -> ask.predict(wrong));
    checkEqual(422, problem.getStatus());
    checkEqual("urn:loadaware:problem:invalid", problem.getType());
    checkEqual(
        List.of("requested.memory", "requested.cpu"),
        problem.getErrors().stream().map(FieldProblem::getField).collect(Collectors.toList()));
    checkEqual(404, problemOf(404, () -> tasks.getTask(DAG, "unknown", null)).getStatus());
  }

  private static PredictRequest newPredictRequest(String run, String memory) {
    return new PredictRequest()
        .dagId(DAG)
        .taskId(TASK)
        .runId(run)
        .requested(new Resources().memory(memory).cpu("2"));
  }

  private static Observation report(String run, Outcome outcome) {
    return new Observation().dagId(DAG).taskId(TASK).runId(run).outcome(outcome).features(FEATURES);
  }

  /** Waits for a receipt, which the service stores shortly after the answer. */
  private static Receipt receiptOf(String predictionId) throws Exception {
    for (int i = 0; i < 100; i++) {
      try {
        return tasks.getReceipt(predictionId);
      } catch (ApiException e) {
        checkEqual(404, e.getCode());
        Thread.sleep(100);
      }
    }
    throw new AssertionError("no receipt of " + predictionId);
  }

  /** Parses the answer of a call that must fail. */
  private static Problem problemOf(int status, Step call) throws Exception {
    try {
      call.run();
    } catch (ApiException e) {
      checkEqual(status, e.getCode());
      return Problem.fromJson(e.getResponseBody());
    }
    throw new AssertionError("accepted");
  }

  private static void checkEqual(Object want, Object got) {
    check(Objects.equals(want, got), want + " expected, but got " + got);
  }

  private static void check(boolean ok, Object details) {
    if (!ok) {
      throw new AssertionError(String.valueOf(details));
    }
  }
}
