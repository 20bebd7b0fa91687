import { Worker } from "node:worker_threads";
import { type Lifecycle, type Logger, type Registry, ServiceError } from "@parley/service-kit";
import { type Candidate, MAX_BOT_SIZE, slowToCompile } from "./acceptance.ts";
import { type MatchResult, matchDurations } from "./metrics.ts";
import { PatternRefused } from "./pattern.ts";
import type { Answer, Job, Match, MatchJob, Message } from "./thread.ts";
import { WorkspaceShares } from "./workspace-shares.ts";

const THREAD = new URL("./thread.ts", import.meta.url);
/** Two, so that a workspace, which runs one job at a time, never occupies all threads. */
const THREADS = 2;
/** Four times the memory of a thread's cached patterns. With two threads, a service of 165 MiB stays below 350 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };
/** Time limit of a job; its thread is terminated. With the largest patterns that can be saved, a match takes about 0.2 s. */
const JOB_MS = 3_000;
/** Time limit in the queue. The first job also waits for a thread to start. */
const WAIT_MS = 5_000;
/** Limit for a workspace's queued text: 250 of the longest messages. */
const MAX_WAITING_CHARACTERS = 1_000_000;
/** A workspace's share of the time of one thread. */
const SHARE = 0.25;

const OVERLOADED = "the workspace's moderation patterns take too long to match; try again later";

export type PatternThreadsDeps = {
  registry: Registry;
  log: Pick<Logger, "warn" | "error">;
  lifecycle: Pick<Lifecycle, "onClose">;
};

export type PatternThreadsOptions = { jobMs?: number; waitMs?: number; share?: number };

type Thread = { worker: Worker; isReady: boolean; running: Task | undefined; startedAtMs: number };

/** A job with its caller's promise. */
type Task = {
  job: Job;
  workspaceId: string;
  enqueuedAtMs: number;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  /** Enforces the time limit in the queue, then the time limit of the job. */
  timer: NodeJS.Timeout | undefined;
};

/**
 * Thread pool for matching and checking patterns. Patterns and texts that are slow on purpose cannot delay other workspaces: the event
 * loop stays free, and a workspace runs one job at a time within its share of a thread's time. A job that exceeds a limit is refused; the
 * caller must then treat its text as unmoderated and not show it.
 */
export class PatternThreads {
  readonly #log: PatternThreadsDeps["log"];
  readonly #durations: ReturnType<typeof matchDurations>;
  readonly #options: Required<PatternThreadsOptions>;
  readonly #shares: WorkspaceShares;
  readonly #threads = new Set<Thread>();
  /** Queued tasks by workspace. Round robin: the workspace that was served last is at the end. */
  readonly #queues = new Map<string, Task[]>();
  /** Dispatches again when a workspace has regained its share. */
  #dispatchTimer: NodeJS.Timeout | undefined;

  constructor({ registry, log, lifecycle }: PatternThreadsDeps, options: PatternThreadsOptions = {}) {
    this.#log = log;
    this.#durations = matchDurations(registry);
    this.#options = { jobMs: JOB_MS, waitMs: WAIT_MS, share: SHARE, ...options };
    this.#shares = new WorkspaceShares(this.#options.share);
    lifecycle.onClose("pattern threads", () => this.#close());
  }

  /** Matches a text. Throws ServiceError `moderation_overloaded` if the job exceeds a limit. */
  async match(workspaceId: string, job: Omit<MatchJob, "kind">): Promise<Match> {
    const answer = await this.#enqueue(workspaceId, { kind: "match", ...job });
    if (answer.kind !== "matched") throw new Error(`a stored pattern cannot be used: ${describe(answer)}`);
    const { match, compiledSize: size = 0 } = answer;
    if (size > MAX_BOT_SIZE)
      this.#log.warn({ workspace_id: workspaceId, size, limit: MAX_BOT_SIZE }, "bot's patterns exceed the size limit");
    return match;
  }

  /** Throws PatternRefused unless the pattern may be saved. Throws the same ServiceError as `match`. */
  async check(workspaceId: string, candidate: Candidate): Promise<void> {
    const answer = await this.#enqueue(workspaceId, { kind: "check", ...candidate });
    if (answer.kind !== "checked") throw new Error(`a pattern cannot be checked: ${describe(answer)}`);
    const { refusal } = answer;
    if (refusal !== undefined) throw new PatternRefused(refusal.code, refusal.message);
  }

  #enqueue(workspaceId: string, job: Job): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const task: Task = { job, workspaceId, enqueuedAtMs: performance.now(), resolve, reject, timer: undefined };
      const queue = this.#queues.get(workspaceId) ?? [];
      if (queue.reduce((sum, each) => sum + charactersOf(each.job), charactersOf(job)) > MAX_WAITING_CHARACTERS) {
        this.#refuse(task, "queue_full");
        return;
      }
      task.timer = setTimeout(() => this.#timeOutInQueue(task), this.#options.waitMs);
      this.#queues.set(workspaceId, [...queue, task]);
      this.#dispatch();
    });
  }

  /** Starts the next permitted task on each free thread. */
  #dispatch(): void {
    clearTimeout(this.#dispatchTimer);
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [workspaceId, queue] of this.#queues) {
      if (this.#isRunning(workspaceId)) continue;
      const waitMs = this.#shares.waitMs(workspaceId, now);
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs);
        continue;
      }
      const thread = this.#freeThread();
      // The next thread that becomes free dispatches again.
      if (thread === undefined) return;
      const [task, ...others] = queue;
      this.#queues.delete(workspaceId);
      if (others.length > 0) this.#queues.set(workspaceId, others);
      if (task !== undefined) this.#start(thread, task);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#dispatchTimer = setTimeout(() => this.#dispatch(), Math.ceil(nextMs));
  }

  #isRunning(workspaceId: string): boolean {
    return [...this.#threads].some(({ running }) => running?.workspaceId === workspaceId);
  }

  /** Returns a free thread, undefined if all are busy or starting. Starts missing threads. */
  #freeThread(): Thread | undefined {
    while (this.#threads.size < THREADS) this.#startThread();
    return [...this.#threads].find(({ isReady, running }) => isReady && running === undefined);
  }

  #startThread(): void {
    const worker = new Worker(THREAD, { resourceLimits: RESOURCE_LIMITS });
    worker.unref();
    const thread: Thread = { worker, isReady: false, running: undefined, startedAtMs: 0 };
    this.#threads.add(thread);
    worker.on("message", ({ answer, workMs }: Message) => {
      if (answer.kind === "ready") thread.isReady = true;
      else this.#finish(thread, answer, workMs);
      this.#dispatch();
    });
    worker.on("error", (error) => {
      this.#log.error({ error }, "pattern thread failed");
      this.#endThread(thread, "failed");
    });
  }

  #start(thread: Thread, task: Task): void {
    clearTimeout(task.timer);
    task.timer = setTimeout(() => this.#endThread(thread, "match_timeout"), this.#options.jobMs);
    thread.running = task;
    thread.startedAtMs = performance.now();
    thread.worker.postMessage(task.job);
  }

  #finish(thread: Thread, answer: Answer, workMs: number): void {
    const task = thread.running;
    if (task === undefined) return;
    thread.running = undefined;
    this.#shares.charge(task.workspaceId, workMs, performance.now());
    this.#observe(task, "ok");
    task.resolve(answer);
  }

  /** Terminates a thread and refuses its task. */
  #endThread(thread: Thread, result: MatchResult): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    const { running: task, startedAtMs } = thread;
    if (task !== undefined) {
      const now = performance.now();
      this.#shares.charge(task.workspaceId, now - startedAtMs, now);
      this.#refuse(task, result);
    }
    this.#dispatch();
  }

  #timeOutInQueue(task: Task): void {
    const queue = (this.#queues.get(task.workspaceId) ?? []).filter((each) => each !== task);
    if (queue.length === 0) this.#queues.delete(task.workspaceId);
    else this.#queues.set(task.workspaceId, queue);
    this.#refuse(task, "wait_timeout");
  }

  #refuse(task: Task, result: MatchResult): void {
    this.#observe(task, result);
    const { job, workspaceId, reject } = task;
    this.#log.warn({ workspace_id: workspaceId, result }, "moderation refused");
    // A check of slow patterns is the author's error and no overload.
    if (job.kind === "check" && result === "match_timeout") reject(slowToCompile());
    else reject(new ServiceError("resource_exhausted", "moderation_overloaded", OVERLOADED));
  }

  #observe({ enqueuedAtMs, timer }: Task, result: MatchResult): void {
    clearTimeout(timer);
    this.#durations.observe({ result }, (performance.now() - enqueuedAtMs) / 1_000);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#dispatchTimer);
    const threads = [...this.#threads];
    this.#threads.clear();
    const task = [...this.#queues.values()].flat();
    this.#queues.clear();
    for (const each of [...task, ...threads.flatMap(({ running }) => running ?? [])]) this.#refuse(each, "failed");
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }
}

function charactersOf(job: Job): number {
  return job.kind === "match" ? job.text.length : job.others.join("").length;
}

function describe(answer: Answer): string {
  return "refusal" in answer && answer.refusal !== undefined ? answer.refusal.message : answer.kind;
}
