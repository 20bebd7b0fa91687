import { Worker } from "node:worker_threads";
import { type Lifecycle, type Logger, type Registry, ServiceError } from "@parley/service-kit";
import { type Candidate, MAX_BOT_SIZE, slowToCompile } from "./acceptance.ts";
import { type MatchResult, matchDurations } from "./metrics.ts";
import { PatternRefused } from "./pattern.ts";
import type { Answer, Job, Match, MatchJob, Message } from "./thread.ts";
import { WorkspaceShares } from "./workspace-shares.ts";

const THREAD = new URL("./thread.ts", import.meta.url);
/** With two, a workspace never occupies all of them. */
const THREADS = 2;
/** Four times what the compiled patterns of a thread take. With two threads, a service of 165 MiB stays below 350 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };
/** A job that takes longer is ended with its thread. The largest patterns that may be saved take about 0.2 s once they are compiled. */
const JOB_MS = 3_000;
/** A job that waits longer for its turn is refused; the first job waits for a thread to start, too. */
const WAIT_MS = 5_000;
/** More text than this of one workspace does not wait: 250 of the longest messages. */
const MAX_WAITING_CHARACTERS = 1_000_000;
/** What a workspace may use of the time of one thread. */
const SHARE = 0.25;

const OVERLOADED = "the workspace's moderation patterns take too long to match; try again later";

export type PatternThreadsDeps = {
  registry: Registry;
  log: Pick<Logger, "warn" | "error">;
  lifecycle: Pick<Lifecycle, "onClose">;
};

export type PatternThreadsOptions = { jobMs?: number; waitMs?: number; share?: number };

type Thread = { worker: Worker; isReady: boolean; running: Asked | undefined; startedAtMs: number };

/** A job, and its caller. */
type Asked = {
  job: Job;
  workspaceId: string;
  askedAtMs: number;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  /** Ends its waiting, then its match. */
  timer: NodeJS.Timeout | undefined;
};

/**
 * Matches and checks patterns in threads beside the event loop, so that patterns and texts made to be slow delay no other workspace. A
 * workspace has one job at a time in a thread, and its share of a thread's time. A job that exceeds its time is refused: the caller must
 * not let its text pass.
 */
export class PatternThreads {
  readonly #log: PatternThreadsDeps["log"];
  readonly #durations: ReturnType<typeof matchDurations>;
  readonly #options: Required<PatternThreadsOptions>;
  readonly #shares: WorkspaceShares;
  readonly #threads = new Set<Thread>();
  /** Jobs without a thread, by workspace; the workspace that was served last comes last. */
  readonly #lines = new Map<string, Asked[]>();
  #wake: NodeJS.Timeout | undefined;

  constructor({ registry, log, lifecycle }: PatternThreadsDeps, options: PatternThreadsOptions = {}) {
    this.#log = log;
    this.#durations = matchDurations(registry);
    this.#options = { jobMs: JOB_MS, waitMs: WAIT_MS, share: SHARE, ...options };
    this.#shares = new WorkspaceShares(this.#options.share);
    lifecycle.onClose("pattern threads", () => this.#close());
  }

  /** Matches a text. Throws ServiceError `moderation_overloaded` if it could not be matched in time. */
  async match(workspaceId: string, job: Omit<MatchJob, "kind">): Promise<Match> {
    const answer = await this.#ask(workspaceId, { kind: "match", ...job });
    if (answer.kind !== "matched") throw new Error(`a stored pattern cannot be used: ${describe(answer)}`);
    const { match, compiledSize: size = 0 } = answer;
    if (size > MAX_BOT_SIZE)
      this.#log.warn({ workspace_id: workspaceId, size, limit: MAX_BOT_SIZE }, "bot's patterns exceed the size limit");
    return match;
  }

  /** Throws PatternRefused unless the pattern may be saved; ServiceError as `match` does. */
  async check(workspaceId: string, candidate: Candidate): Promise<void> {
    const answer = await this.#ask(workspaceId, { kind: "check", ...candidate });
    if (answer.kind !== "checked") throw new Error(`a pattern cannot be checked: ${describe(answer)}`);
    const { refusal } = answer;
    if (refusal !== undefined) throw new PatternRefused(refusal.code, refusal.message);
  }

  #ask(workspaceId: string, job: Job): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked: Asked = { job, workspaceId, askedAtMs: performance.now(), resolve, reject, timer: undefined };
      const line = this.#lines.get(workspaceId) ?? [];
      if (line.reduce((sum, each) => sum + charactersOf(each.job), charactersOf(job)) > MAX_WAITING_CHARACTERS) {
        this.#refuse(asked, "queue_full");
        return;
      }
      asked.timer = setTimeout(() => this.#leaveLine(asked), this.#options.waitMs);
      this.#lines.set(workspaceId, [...line, asked]);
      this.#dispatch();
    });
  }

  /** Gives each free thread the next job that may start. */
  #dispatch(): void {
    clearTimeout(this.#wake);
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [workspaceId, line] of this.#lines) {
      if (this.#isRunning(workspaceId)) continue;
      const waitMs = this.#shares.waitMs(workspaceId, now);
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs);
        continue;
      }
      const thread = this.#freeThread();
      // The thread that is free next looks again.
      if (thread === undefined) return;
      const [asked, ...others] = line;
      this.#lines.delete(workspaceId);
      if (others.length > 0) this.#lines.set(workspaceId, others);
      if (asked !== undefined) this.#start(thread, asked);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#wake = setTimeout(() => this.#dispatch(), Math.ceil(nextMs));
  }

  #isRunning(workspaceId: string): boolean {
    return [...this.#threads].some(({ running }) => running?.workspaceId === workspaceId);
  }

  /** Undefined while every thread is busy or starting. The threads are started when there is a job for them. */
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

  #start(thread: Thread, asked: Asked): void {
    clearTimeout(asked.timer);
    asked.timer = setTimeout(() => this.#endThread(thread, "match_timeout"), this.#options.jobMs);
    thread.running = asked;
    thread.startedAtMs = performance.now();
    thread.worker.postMessage(asked.job);
  }

  #finish(thread: Thread, answer: Answer, workMs: number): void {
    const asked = thread.running;
    if (asked === undefined) return;
    thread.running = undefined;
    this.#shares.charge(asked.workspaceId, workMs, performance.now());
    this.#observe(asked, "ok");
    asked.resolve(answer);
  }

  /** Ends a thread, and refuses its job. */
  #endThread(thread: Thread, result: MatchResult): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    const { running: asked, startedAtMs } = thread;
    if (asked !== undefined) {
      const now = performance.now();
      this.#shares.charge(asked.workspaceId, now - startedAtMs, now);
      this.#refuse(asked, result);
    }
    this.#dispatch();
  }

  #leaveLine(asked: Asked): void {
    const line = (this.#lines.get(asked.workspaceId) ?? []).filter((each) => each !== asked);
    if (line.length === 0) this.#lines.delete(asked.workspaceId);
    else this.#lines.set(asked.workspaceId, line);
    this.#refuse(asked, "wait_timeout");
  }

  #refuse(asked: Asked, result: MatchResult): void {
    this.#observe(asked, result);
    const { job, workspaceId, reject } = asked;
    this.#log.warn({ workspace_id: workspaceId, result }, "moderation refused");
    // A check has the thread to itself: what takes so long are the patterns.
    if (job.kind === "check" && result === "match_timeout") reject(slowToCompile());
    else reject(new ServiceError("resource_exhausted", "moderation_overloaded", OVERLOADED));
  }

  #observe({ askedAtMs, timer }: Asked, result: MatchResult): void {
    clearTimeout(timer);
    this.#durations.observe({ result }, (performance.now() - askedAtMs) / 1_000);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#wake);
    const threads = [...this.#threads];
    this.#threads.clear();
    const asked = [...this.#lines.values()].flat();
    this.#lines.clear();
    for (const each of [...asked, ...threads.flatMap(({ running }) => running ?? [])]) this.#refuse(each, "failed");
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }
}

function charactersOf(job: Job): number {
  return job.kind === "match" ? job.text.length : job.others.join("").length;
}

function describe(answer: Answer): string {
  return "refusal" in answer && answer.refusal !== undefined ? answer.refusal.message : answer.kind;
}
