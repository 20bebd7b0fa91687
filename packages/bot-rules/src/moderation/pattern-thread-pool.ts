import { Worker } from "node:worker_threads";
import {
  FairQueue,
  type Lifecycle,
  type Logger,
  type Registry,
  ServiceError,
  WorkspaceTimeLimiter,
} from "@parley/service-kit";
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

type RunningJob = {
  workspaceId: string;
  startedAtMs: number;
  resolve: (answer: Answer) => void;
  reject: (refusal: JobRefusal) => void;
  timer: NodeJS.Timeout;
};

type Thread = { worker: Worker; isReady: boolean; running: RunningJob | undefined };

class JobRefusal extends Error {
  readonly outcome: JobOutcome;

  constructor(outcome: JobOutcome) {
    super(outcome);
    this.outcome = outcome;
  }
}

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
  /** Each place is a thread that is ready. */
  readonly #queue: FairQueue;
  #isClosed: boolean = false;

  constructor({ registry, log, lifecycle }: PatternThreadPoolDeps, options: PatternThreadPoolOptions = {}) {
    this.#log = log;
    this.#durations = createPatternJobHistogram(registry);
    const defaults = { maxJobMs: MAX_JOB_MS, maxWaitMs: MAX_WAIT_MS, share: WORKSPACE_SHARE, threadUrl: THREAD_URL };
    this.#options = { ...defaults, ...options };
    this.#timeLimiter = new WorkspaceTimeLimiter({ share: this.#options.share, burstMs: BURST_MS });
    this.#queue = new FairQueue({
      maxActive: 0,
      maxActiveOfWorkspace: 1,
      delayMs: (workspaceId) => this.#timeLimiter.waitMs(workspaceId, performance.now()),
      maxWaitMs: this.#options.maxWaitMs,
      createTimeoutError: () => new JobRefusal("wait_timeout"),
    });
    lifecycle.onClose("pattern threads", () => this.#close());
  }

  /** Matches a text. Throws ServiceError `moderation_overloaded` if the job exceeds a limit or its thread fails. */
  async match(workspaceId: string, job: Omit<MatchJob, "kind">): Promise<Match> {
    const answer = await this.#run(workspaceId, { kind: "match", ...job });
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
    const answer = await this.#run(workspaceId, { kind: "matchAll", ...job });
    if (answer.kind !== "matchedAll") throw new Error(`a pattern cannot be used: ${describeAnswer(answer)}`);
    return answer.indexes;
  }

  /**
   * Throws PatternRefusedError if the pattern may not be saved, or if the check exceeds the time limit of a job. Throws ServiceError
   * `moderation_overloaded` if the check exceeds a limit of the queue or its thread fails.
   */
  async check(workspaceId: string, candidate: PatternCandidate): Promise<void> {
    const answer = await this.#run(workspaceId, { kind: "check", ...candidate });
    if (answer.kind !== "checked") throw new Error(`a pattern cannot be checked: ${describeAnswer(answer)}`);
    const { refusal } = answer;
    if (refusal !== undefined) throw new PatternRefusedError(refusal.code, refusal.message);
  }

  async #run(workspaceId: string, job: Job): Promise<Answer> {
    const enqueuedAtMs = performance.now();
    // The metric's kind `check` includes matchAll jobs: they match an owner's test text.
    const kind = job.kind === "match" ? "match" : "check";
    const observe = (result: JobOutcome) =>
      this.#durations.observe({ kind, result }, (performance.now() - enqueuedAtMs) / 1_000);
    try {
      const answer = await this.#enqueue(workspaceId, job);
      observe("ok");
      return answer;
    } catch (error) {
      if (!(error instanceof JobRefusal)) throw error;
      const { outcome } = error;
      observe(outcome);
      this.#log.warn({ workspace_id: workspaceId, result: outcome }, "pattern job refused");
      // A check job times out if the owner's pattern is too slow to compile. Such a timeout is not an overload.
      if (job.kind === "check" && outcome === "match_timeout") throw slowToCompileError();
      throw new ServiceError("resource_exhausted", "moderation_overloaded", OVERLOADED);
    }
  }

  async #enqueue(workspaceId: string, job: Job): Promise<Answer> {
    if (this.#isClosed) throw new JobRefusal("failed");
    const characters = countCharacters(job);
    const queued = [...(this.#queue.waiting.get(workspaceId) ?? [])];
    if (queued.reduce((sum, { size }) => sum + size, characters) > MAX_QUEUED_CHARACTERS)
      throw new JobRefusal("queue_full");
    this.#startMissingThreads();
    return this.#queue.run(workspaceId, undefined, () => this.#runInThread(workspaceId, job), characters);
  }

  #runInThread(workspaceId: string, job: Job): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const thread = [...this.#threads].find(({ isReady, running }) => isReady && running === undefined);
      if (thread === undefined) throw new JobRefusal("failed");
      const timer = setTimeout(() => this.#endThread(thread, "match_timeout"), this.#options.maxJobMs);
      thread.running = { workspaceId, startedAtMs: performance.now(), resolve, reject, timer };
      thread.worker.postMessage(job);
    });
  }

  #startMissingThreads(): void {
    while (this.#threads.size < THREAD_COUNT) this.#startThread();
  }

  #startThread(): void {
    const worker = new Worker(this.#options.threadUrl, { resourceLimits: RESOURCE_LIMITS });
    worker.unref();
    const thread: Thread = { worker, isReady: false, running: undefined };
    this.#threads.add(thread);
    worker.on("message", (message: ThreadMessage) => {
      if (message.kind === "ready") this.#setReady(thread, true);
      else this.#finish(thread, message);
    });
    worker.on("error", (error) => {
      this.#log.error({ error }, "pattern thread failed");
      const end = () => this.#endThread(thread, "failed");
      if (thread.isReady) end();
      // The failed thread keeps its place in the pool during the delay.
      else setTimeout(end, START_RETRY_DELAY_MS).unref();
    });
  }

  #setReady(thread: Thread, isReady: boolean): void {
    thread.isReady = isReady;
    this.#queue.maxActive = [...this.#threads].filter((each) => each.isReady).length;
  }

  #finish(thread: Thread, { answer, cpuTimeMs }: JobResult): void {
    const job = thread.running;
    if (job === undefined) return;
    clearTimeout(job.timer);
    thread.running = undefined;
    this.#timeLimiter.charge(job.workspaceId, cpuTimeMs, performance.now());
    job.resolve(answer);
  }

  #endThread(thread: Thread, outcome: JobOutcome): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    const job = thread.running;
    // A result that the thread has already sent still arrives. Without a running job, #finish ignores it.
    thread.running = undefined;
    if (job !== undefined) {
      clearTimeout(job.timer);
      const now = performance.now();
      this.#timeLimiter.charge(job.workspaceId, now - job.startedAtMs, now);
      job.reject(new JobRefusal(outcome));
    }
    this.#setReady(thread, false);
    if (this.#queue.waiting.size > 0) this.#startMissingThreads();
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    const threads = [...this.#threads];
    for (const queued of this.#queue.waiting.values()) for (const each of queued) each.refuse(new JobRefusal("failed"));
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
