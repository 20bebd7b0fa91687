import { DEFAULT_FALLBACK } from "@parley/bot-rules/moderation";
import { toFinishDetail } from "@parley/rpc/outcomes";
import { MAX_GENERATION_MS, pause } from "@parley/service-kit";
import { type Candidate, computeRetryDelayMs, ProviderFailure, type Sink } from "../providers/index.ts";
import type { Timeouts } from "../settings/index.ts";
import type { Toolbox, ToolRound } from "../tools/index.ts";
import { runAttempt } from "./attempt.ts";
import type { AttemptRequest, AttemptResult, AttemptTimes, Completion } from "./attempt-result.ts";
import { Citations } from "./citations.ts";
import type { CompletionModeration } from "./completion-moderation.ts";
import {
  type GenerationAttempt,
  type GenerationEnding,
  type GenerationEvent,
  type GenerationRequest,
  type GenerationResult,
  type NextStep,
  toEnding,
} from "./generation-result.ts";
import type { GenerationUsage } from "./meter.ts";

export type GenerationDeps = {
  /** A monotonic clock, in milliseconds. */
  now: () => number;
  /** Returns a random number in [0, 1), for the jitter of retries. */
  random: () => number;
  /** Called for each attempt that a ProviderFailure ended. */
  onFailure: (candidate: Candidate, failure: ProviderFailure, next: NextStep) => void;
};

/** The reasons with which providers refuse a request because the model accepts no tools, or for other mistakes in it. */
const REFUSED_REQUEST: ReadonlySet<string> = new Set(["http_400", "http_404"]);

/**
 * The time from the start of the first attempt to the first text, in two parts. If there is no text yet, the time ends now. An attempt starts when
 * it begins to wait for a slot.
 */
export type FirstTextWaits = {
  /** Waiting for slots of the providers' concurrency limits. */
  queueMs: number;
  /** The rest: waiting for the providers, between retries and for tools. */
  providerMs: number;
};

/** One Generate call: rounds of attempts, with the model's tool calls between the rounds. */
export class Generation {
  readonly #request: GenerationRequest;
  readonly #signal: AbortSignal;
  readonly #deps: GenerationDeps;
  readonly #startedAtMs: number;
  readonly #citations: Citations | undefined;
  /** The models left to try, in order. The first is the current one. */
  #candidates: readonly Candidate[] = [];
  #attempts: readonly GenerationAttempt[] = [];
  /** `model` is the model that called the tools. */
  #toolRounds: readonly (ToolRound & { model: string })[] = [];
  /** False once the current model's provider has refused the built-in tool. */
  #offersTools = true;
  #toolCalls = 0;
  #toolsMs = 0;
  /** Set when the first text arrives. */
  #waits: FirstTextWaits | undefined;

  constructor(request: GenerationRequest, signal: AbortSignal, deps: GenerationDeps) {
    this.#request = request;
    this.#signal = signal;
    this.#deps = deps;
    this.#startedAtMs = deps.now();
    this.#citations = request.prompt.citesSources ? new Citations() : undefined;
  }

  get attempts(): readonly GenerationAttempt[] {
    return this.#attempts;
  }

  /**
   * Generates a completion with the first candidate that does not fail, and passes it to `output`. Before the first text, retries a candidate
   * according to its provider's retry policy, and then fails over to the next one. When the model calls tools, prompts it again with their results.
   */
  async run(
    candidates: readonly Candidate[],
    toolbox: Toolbox | undefined,
    output: Pick<CompletionModeration, "sink" | "waitForMatching" | "sendHeldBackText">,
  ): Promise<GenerationEnding> {
    this.#candidates = candidates;
    for (;;) {
      const { ending, completion } = await this.#runRound(toolbox, output);
      if (ending.outcome !== "complete") return ending;
      if (completion.stopCause === "refusal") return this.#createRefusal();
      if (completion.toolRequests.length === 0 || toolbox === undefined)
        return { ...ending, finishDetail: toFinishDetail(completion.stopCause) };
      // A blocked completion must not call tools. If a pattern matches the completion, the signal is aborted.
      await output.waitForMatching();
      if (this.#signal.aborted) return toEnding(this.#signal.reason);
      if (!toolbox.canCallAgain(this.#toolRounds.length))
        return toEnding(new ProviderFailure("provider_error", "tool_calls"));
      try {
        await this.#callTools(toolbox, completion, output.sink);
      } catch (error) {
        return toEnding(error);
      }
    }
  }

  #createRefusal(): GenerationEnding {
    const fallback = this.#request.prompt.fallback || DEFAULT_FALLBACK;
    return { outcome: "blocked", reason: "refusal", verdict: { reason: "refusal", fallback }, finishDetail: "" };
  }

  getWaits(): FirstTextWaits {
    return this.#waits ?? this.#measureWaits(this.#attempts);
  }

  buildResult(ending: GenerationEnding, endedAtMs: number, usage: GenerationUsage): GenerationResult {
    const attempts = this.#attempts;
    const last = attempts.at(-1);
    const firstTextAtMs = attempts.find((each) => each.firstTextAtMs !== undefined)?.firstTextAtMs;
    return {
      ...ending,
      startedAtMs: this.#startedAtMs,
      attempts,
      sentAttempts: attempts.filter(({ isSent }) => isSent).length,
      provider: last?.request.candidate.guardedProvider.settings.name ?? "",
      model: last?.request.candidate.model ?? "",
      failovers: attempts.filter(({ next }) => next === "failover").length,
      rounds: last === undefined ? 0 : last.request.toolRounds.length + 1,
      toolCalls: this.#toolCalls,
      usage,
      queueMs: sumQueueMs(attempts),
      toolsMs: this.#toolsMs,
      firstTextMs: firstTextAtMs === undefined ? undefined : firstTextAtMs - this.#startedAtMs,
      totalMs: endedAtMs - this.#startedAtMs,
    };
  }

  async #runRound(
    toolbox: Toolbox | undefined,
    { sink, sendHeldBackText }: Pick<CompletionModeration, "sink" | "sendHeldBackText">,
  ): Promise<{ ending: GenerationEnding; completion: Completion }> {
    let attemptsOfModel = 0;
    for (;;) {
      attemptsOfModel++;
      const [candidate, ...others] = this.#candidates;
      if (candidate === undefined) throw new Error("no model is left to try");
      const result = await runAttempt(this.#buildAttemptRequest(candidate, toolbox), {
        signal: this.#signal,
        now: this.#deps.now,
        onText: sink,
        onCitation: (citation) => void sink({ citation }),
        onThoughts: () => void sink({ isOutputStart: true }),
        onTextComplete: (stopCause) => sendHeldBackText(toFinishDetail(stopCause)),
        onFirstText: (times) => {
          this.#waits ??= this.#measureWaits([...this.#attempts, times]);
        },
      });
      const { failure, completion } = result;
      if (!(failure instanceof ProviderFailure)) {
        this.#attempts = [...this.#attempts, { ...result, next: "" }];
        return { ending: toEnding(failure), completion };
      }
      const { next, delayMs } = this.#decideNextStep(result, failure, attemptsOfModel, toolbox);
      this.#attempts = [...this.#attempts, { ...result, next }];
      this.#deps.onFailure(candidate, failure, next);
      if (next === "end") return { ending: toEnding(failure), completion };
      if (next === "failover") {
        this.#candidates = others;
        this.#offersTools = true;
        attemptsOfModel = 0;
      } else if (!(await pause(delayMs, this.#signal))) return { ending: toEnding(this.#signal.reason), completion };
    }
  }

  #buildAttemptRequest(candidate: Candidate, toolbox: Toolbox | undefined): AttemptRequest {
    const { workspaceId, turnId, prompt } = this.#request;
    const toolRounds = this.#toolRounds.map(({ model, assistantMessage, ...round }) => ({
      ...round,
      assistantMessage: model === candidate.model ? assistantMessage : undefined,
    }));
    return {
      candidate,
      workspaceId,
      turnId,
      prompt,
      tools: this.#offersTools ? (toolbox?.functions ?? []) : [],
      mustAnswerWithoutTools: toolbox?.canCallAgain(toolRounds.length) !== true,
      toolRounds,
      citations: this.#citations,
      deadlineAtMs: this.#computeDeadline(candidate.guardedProvider.settings.timeouts),
    };
  }

  /**
   * Returns the time by which the next attempt must have ended. Once a tool was called, the total timeout bounds the whole generation instead
   * of one attempt. MAX_GENERATION_MS always bounds the generation.
   */
  #computeDeadline({ totalMs }: Timeouts): number {
    const limitMs = this.#toolRounds.length === 0 ? MAX_GENERATION_MS : Math.min(totalMs, MAX_GENERATION_MS);
    return this.#startedAtMs + limitMs;
  }

  #decideNextStep(
    { request }: AttemptResult,
    failure: ProviderFailure,
    attemptsOfModel: number,
    toolbox: Toolbox | undefined,
  ): { next: NextStep; delayMs: number } {
    // After the first text, another attempt would append a second reply to the first. An internal error is a bug in Parley, which another
    // attempt would meet too.
    if (this.#waits !== undefined || this.#signal.aborted || failure.reason === "internal")
      return { next: "end", delayMs: 0 };
    // A bot's owner does not see that asking for a person is a tool, so a model that accepts no tools must answer without it.
    const mayLackTools = REFUSED_REQUEST.has(failure.reason) && this.#toolRounds.length === 0;
    if (mayLackTools && request.tools.length > 0 && toolbox?.isBuiltin) {
      this.#offersTools = false;
      return { next: "retry", delayMs: 0 };
    }
    const { retries } = request.candidate.guardedProvider.settings;
    const delayMs = computeRetryDelayMs(failure, attemptsOfModel, retries, this.#deps.random());
    if (delayMs !== undefined) return { next: "retry", delayMs };
    return { next: this.#candidates.length > 1 ? "failover" : "end", delayMs: 0 };
  }

  /** Makes all tool calls of a completion concurrently. Throws the signal's reason if the generation is cancelled. */
  async #callTools(toolbox: Toolbox, completion: Completion, sink: Sink<GenerationEvent>): Promise<void> {
    const { text, toolRequests, assistantMessage } = completion;
    const model = this.#candidates[0]?.model ?? "";
    const { now } = this.#deps;
    this.#toolCalls += toolRequests.length;
    await sink({ isToolRoundStart: true });
    const startedAtMs = now();
    const calling = Promise.all(toolRequests.map((request) => toolbox.call(request, this.#signal)));
    let roundMs = 0;
    const calls = await calling.finally(() => {
      roundMs = now() - startedAtMs;
      this.#toolsMs += roundMs;
    });
    this.#toolRounds = [...this.#toolRounds, { text, calls, model, assistantMessage }];
    for (const [i, { use }] of calls.entries())
      await sink({ ...use, roundLatencyMs: i === 0 ? Math.round(roundMs) : 0 });
  }

  #measureWaits(attempts: readonly AttemptTimes[]): FirstTextWaits {
    const [first] = attempts;
    if (first === undefined) return { queueMs: 0, providerMs: 0 };
    const queueMs = sumQueueMs(attempts);
    return { queueMs, providerMs: this.#deps.now() - first.startedAtMs - queueMs };
  }
}

function sumQueueMs(attempts: readonly AttemptTimes[]): number {
  return attempts.reduce((sum, { queueMs }) => sum + queueMs, 0);
}
