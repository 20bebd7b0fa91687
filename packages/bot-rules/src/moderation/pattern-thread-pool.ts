import { Worker } from "node:worker_threads";
import { type Lifecycle, type Logger, type Registry, ServiceError, WorkspaceTimeLimiter } from "@parley/service-kit";
import { MAX_TOTAL_PATTERN_SIZE, type PatternCandidate, slowToCompileError } from "./acceptance.ts";
import { createPatternJobHistogram, type JobOutcome } from "./metrics.ts";
import { PatternRefusedError } from "./pattern.ts";
import type { Answer, Job, JobResult, Match, MatchAllJob, MatchJob, ThreadMessage } from "./thread.ts";

const THREAD_URL = new URL("./thread.ts", import.meta.url);
/** Two, so that one workspace never occupies all threads: a workspace runs one job at a time. */
const THREAD_COUNT = 2;
/** The old generation has four times the size of a thread's pattern cache. Measured: with both threads, a service used less than 350 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };
/** The thread of a longer job is terminated. With the largest patterns that can be saved, a match takes about 0.2 s. */
const MAX_JOB_MS = 3_000;
/** Time limit in the queue. The first job also waits for a thread to start. */
const MAX_WAIT_MS = 5_000;
/** Delay before a thread that failed to start is replaced. Immediate restarts would occupy a core. */
const START_RETRY_DELAY_MS = 1_000;
/** Limit for a workspace's queued text: 250 messages of 4,000 UTF-16 units. */
const MAX_QUEUED_CHARACTERS = 1_000_000;
/** A workspace's share of one thread's time, from 0 to 1. */
const WORKSPACE_SHARE = 0.1;
/** Thread time that a workspace may use in one burst if it has been idle. */
const BURST_MS = 250;

const OVERLOADED = "the workspace's moderation patterns take too long to match; try again later";

export type PatternThreadPoolDeps = {
  registry: Registry;
  log: Pick<Logger, "warn" | "error">;
  lifecycle: Pick<Lifecycle, "onClose">;
};

export type PatternThreadPoolOptions = { maxJobMs?: number; maxWaitMs?: number; share?: number; threadUrl?: URL };

type Thread = { worker: Worker; isReady: boolean; running: QueuedJob | undefined; jobStartedAtMs: number };

type QueuedJob = {
  job: Job;
  workspaceId: string;
  enqueuedAtMs: number;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  /** Enforces first the time limit in the queue, then the time limit of the job. */
  timer: NodeJS.Timeout | undefined;
};

/**
 * Matches and checks patterns in threads, so that slow jobs delay neither the event loop nor other workspaces. Each workspace runs one job at a
 * time and has a limited share of a thread's time. A job that exceeds a limit is refused. If a match job is refused, the caller must not show
 * the job's text, because it is unmoderated.
 */
export class PatternThreadPool {
  readonly #log: PatternThreadPoolDeps["log"];
  readonly #durations: ReturnType<typeof createPatternJobHistogram>;
  readonly #options: Required<PatternThreadPoolOptions>;
  readonly #timeLimiter: WorkspaceTimeLimiter;
  readonly #threads = new Set<Thread>();
  /** Queued jobs by workspace. Round robin: the workspace that was served last is at the end. */
  readonly #queues = new Map<string, QueuedJob[]>();
  /** Dispatches again when a waiting workspace may use thread time again. */
  #dispatchTimer: NodeJS.Timeout | undefined;
  #isClosed: boolean = false;

  constructor({ registry, log, lifecycle }: PatternThreadPoolDeps, options: PatternThreadPoolOptions = {}) {
    this.#log = log;
    this.#durations = createPatternJobHistogram(registry);
    const defaults = { maxJobMs: MAX_JOB_MS, maxWaitMs: MAX_WAIT_MS, share: WORKSPACE_SHARE, threadUrl: THREAD_URL };
    this.#options = { ...defaults, ...options };
    this.#timeLimiter = new WorkspaceTimeLimiter({ share: this.#options.share, burstMs: BURST_MS });
    lifecycle.onClose("pattern threads", () => this.#close());
  }

  /** Matches a text. Throws ServiceError `moderation_overloaded` if the job exceeds a limit or its thread fails. */
  async match(workspaceId: string, job: Omit<MatchJob, "kind">): Promise<Match> {
    const answer = await this.#enqueue(workspaceId, { kind: "match", ...job });
    if (answer.kind !== "matched") throw new Error(`a stored pattern cannot be used: ${describeAnswer(answer)}`);
    const { match, compiledSize } = answer;
    // If the patterns were cached, `compiledSize` is undefined: their size was checked when they were compiled.
    if (compiledSize !== undefined && compiledSize > MAX_TOTAL_PATTERN_SIZE)
      this.#log.warn(
        { workspace_id: workspaceId, size: compiledSize, limit: MAX_TOTAL_PATTERN_SIZE },
        "bot's patterns exceed the size limit",
      );
    return match;
  }

  /** Returns the indexes of all patterns that match the job's text. Fails as `match` does. */
  async matchAll(workspaceId: string, job: Omit<MatchAllJob, "kind">): Promise<readonly number[]> {
    const answer = await this.#enqueue(workspaceId, { kind: "matchAll", ...job });
    if (answer.kind !== "matchedAll") throw new Error(`a pattern cannot be used: ${describeAnswer(answer)}`);
    return answer.indexes;
  }

  /**
   * Throws PatternRefusedError if the pattern may not be saved, or if the check exceeds the time limit of a job. Throws ServiceError
   * `moderation_overloaded` if the check exceeds a limit of the queue or its thread fails.
   */
  async check(workspaceId: string, candidate: PatternCandidate): Promise<void> {
    const answer = await this.#enqueue(workspaceId, { kind: "check", ...candidate });
    if (answer.kind !== "checked") throw new Error(`a pattern cannot be checked: ${describeAnswer(answer)}`);
    const { refusal } = answer;
    if (refusal !== undefined) throw new PatternRefusedError(refusal.code, refusal.message);
  }

  #enqueue(workspaceId: string, job: Job): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const queuedJob: QueuedJob = {
        job,
        workspaceId,
        enqueuedAtMs: performance.now(),
        resolve,
        reject,
        timer: undefined,
      };
      if (this.#isClosed) {
        this.#refuse(queuedJob, "failed");
        return;
      }
      const queue = this.#queues.get(workspaceId) ?? [];
      if (queue.reduce((sum, each) => sum + countCharacters(each.job), countCharacters(job)) > MAX_QUEUED_CHARACTERS) {
        this.#refuse(queuedJob, "queue_full");
        return;
      }
      queuedJob.timer = setTimeout(() => this.#timeOutInQueue(queuedJob), this.#options.maxWaitMs);
      this.#queues.set(workspaceId, [...queue, queuedJob]);
      this.#dispatch();
    });
  }

  #dispatch(): void {
    clearTimeout(this.#dispatchTimer);
    const now = performance.now();
    let nextDispatchInMs = Number.POSITIVE_INFINITY;
    // Copies the entries, because the loop moves each served workspace to the end of the map.
    for (const [workspaceId, queue] of [...this.#queues]) {
      if (this.#isRunning(workspaceId)) continue;
      const untilPermittedMs = this.#timeLimiter.waitMs(workspaceId, now);
      if (untilPermittedMs > 0) {
        nextDispatchInMs = Math.min(nextDispatchInMs, untilPermittedMs);
        continue;
      }
      const thread = this.#findIdleThread();
      // When a thread becomes free, #dispatch runs again.
      if (thread === undefined) return;
      const [queuedJob, ...others] = queue;
      this.#queues.delete(workspaceId);
      if (others.length > 0) this.#queues.set(workspaceId, others);
      if (queuedJob !== undefined) this.#start(thread, queuedJob);
    }
    if (nextDispatchInMs < Number.POSITIVE_INFINITY)
      this.#dispatchTimer = setTimeout(() => this.#dispatch(), Math.ceil(nextDispatchInMs));
  }

  #isRunning(workspaceId: string): boolean {
    return [...this.#threads].some(({ running }) => running?.workspaceId === workspaceId);
  }

  /** Returns undefined if all threads are busy or starting. Starts missing threads. */
  #findIdleThread(): Thread | undefined {
    while (this.#threads.size < THREAD_COUNT) this.#startThread();
    return [...this.#threads].find(({ isReady, running }) => isReady && running === undefined);
  }

  #startThread(): void {
    const worker = new Worker(this.#options.threadUrl, { resourceLimits: RESOURCE_LIMITS });
    worker.unref();
    const thread: Thread = { worker, isReady: false, running: undefined, jobStartedAtMs: 0 };
    this.#threads.add(thread);
    worker.on("message", (message: ThreadMessage) => {
      if (message.kind === "ready") thread.isReady = true;
      else this.#finish(thread, message);
      this.#dispatch();
    });
    worker.on("error", (error) => {
      this.#log.error({ error }, "pattern thread failed");
      const end = () => this.#endThread(thread, "failed");
      if (thread.isReady) end();
      // The failed thread keeps its place in the pool during the delay.
      else setTimeout(end, START_RETRY_DELAY_MS).unref();
    });
  }

  #start(thread: Thread, queuedJob: QueuedJob): void {
    clearTimeout(queuedJob.timer);
    queuedJob.timer = setTimeout(() => this.#endThread(thread, "match_timeout"), this.#options.maxJobMs);
    thread.running = queuedJob;
    thread.jobStartedAtMs = performance.now();
    thread.worker.postMessage(queuedJob.job);
  }

  #finish(thread: Thread, { answer, cpuTimeMs }: JobResult): void {
    const queuedJob = thread.running;
    if (queuedJob === undefined) return;
    clearTimeout(queuedJob.timer);
    thread.running = undefined;
    this.#timeLimiter.charge(queuedJob.workspaceId, cpuTimeMs, performance.now());
    this.#observe(queuedJob, "ok");
    queuedJob.resolve(answer);
  }

  #endThread(thread: Thread, outcome: JobOutcome): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    const { running: queuedJob, jobStartedAtMs } = thread;
    // A result that the thread has already sent still arrives. Without a running job, #finish ignores it.
    thread.running = undefined;
    if (queuedJob !== undefined) {
      const now = performance.now();
      this.#timeLimiter.charge(queuedJob.workspaceId, now - jobStartedAtMs, now);
      this.#refuse(queuedJob, outcome);
    }
    this.#dispatch();
  }

  #timeOutInQueue(queuedJob: QueuedJob): void {
    const queue = (this.#queues.get(queuedJob.workspaceId) ?? []).filter((each) => each !== queuedJob);
    if (queue.length === 0) this.#queues.delete(queuedJob.workspaceId);
    else this.#queues.set(queuedJob.workspaceId, queue);
    this.#refuse(queuedJob, "wait_timeout");
  }

  #refuse(queuedJob: QueuedJob, outcome: JobOutcome): void {
    clearTimeout(queuedJob.timer);
    this.#observe(queuedJob, outcome);
    const { job, workspaceId, reject } = queuedJob;
    this.#log.warn({ workspace_id: workspaceId, result: outcome }, "pattern job refused");
    // A check job times out if the owner's pattern is too slow to compile. Such a timeout is not an overload.
    if (job.kind === "check" && outcome === "match_timeout") reject(slowToCompileError());
    else reject(new ServiceError("resource_exhausted", "moderation_overloaded", OVERLOADED));
  }

  #observe({ job, enqueuedAtMs }: QueuedJob, outcome: JobOutcome): void {
    // The metric's kind `check` includes matchAll jobs: they match an owner's test text.
    const kind = job.kind === "match" ? "match" : "check";
    this.#durations.observe({ kind, result: outcome }, (performance.now() - enqueuedAtMs) / 1_000);
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#dispatchTimer);
    const threads = [...this.#threads];
    const queued = [...this.#queues.values()].flat();
    this.#queues.clear();
    for (const each of queued) this.#refuse(each, "failed");
    for (const thread of threads) this.#endThread(thread, "failed");
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }
}

function countCharacters(job: Job): number {
  return job.kind === "check" ? [job.pattern, ...job.otherPatterns].join("").length : job.text.length;
}

function describeAnswer(answer: Answer): string {
  return "refusal" in answer && answer.refusal !== undefined ? answer.refusal.message : answer.kind;
}
