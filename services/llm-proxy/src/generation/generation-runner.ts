import type { PatternThreadPool } from "@parley/bot-rules/moderation";
import type { Logger } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import type {
  Candidate,
  Operation,
  ProviderCatalog,
  ProviderError,
  ProviderFailure,
  Sink,
} from "../providers/index.ts";
import type { ToolboxFactory } from "../tools/index.ts";
import type { ActiveGeneration, ActiveGenerations } from "./active-generations.ts";
import { moderateCompletion } from "./completion-moderation.ts";
import { type FirstTextWaits, Generation, type GenerationDeps } from "./generation.ts";
import type {
  GenerationEnding,
  GenerationEvent,
  GenerationRequest,
  GenerationResult,
  NextStep,
} from "./generation-result.ts";
import { type CountTokens, meterRounds, type RoundUsage, sumUsages } from "./meter.ts";
import { errorTypeOf } from "./provider-span.ts";

export type GenerationRunnerDeps = Pick<GenerationDeps, "now" | "random"> & {
  catalog: ProviderCatalog;
  activeGenerations: ActiveGenerations;
  tools: Pick<ToolboxFactory, "openToolbox">;
  patternThreads: Pick<PatternThreadPool, "match">;
  countTokens: CountTokens;
  metrics: Metrics;
  log: Logger;
};

export type RunningGeneration = {
  /** Never rejects. */
  result: Promise<GenerationResult>;
  cancel: () => void;
  /** Returns how long the generation waited before its first text or, if there is no text yet, until now. */
  getWaits: () => FirstTextWaits;
};

export class GenerationRunner {
  readonly #deps: GenerationRunnerDeps;

  constructor(deps: GenerationRunnerDeps) {
    this.#deps = deps;
  }

  /** Aborting `callerSignal` cancels the generation. */
  start(request: GenerationRequest, callerSignal: AbortSignal, sink: Sink<GenerationEvent>): RunningGeneration {
    const { activeGenerations, now, random } = this.#deps;
    const active = activeGenerations.add(callerSignal);
    const onFailure: GenerationDeps["onFailure"] = (...args) => this.#reportFailure(request, ...args);
    const generation = new Generation(request, active.signal, { now, random, onFailure });
    const result = this.#run(generation, request, active, sink);
    return { result, cancel: active.cancel, getWaits: () => generation.getWaits() };
  }

  async #run(
    generation: Generation,
    request: GenerationRequest,
    active: ActiveGeneration,
    sink: Sink<GenerationEvent>,
  ): Promise<GenerationResult> {
    const { countTokens, log, now } = this.#deps;
    const ending = await this.#generate(generation, request, active, sink).catch((error: unknown): GenerationEnding => {
      log.error({ error, turn_id: request.turnId }, "generation failed unexpectedly");
      return { outcome: "provider_error", reason: "internal", finishDetail: "" };
    });
    const endedAtMs = now();
    active.remove();
    // Estimates the tokens of a cancelled generation instead of counting them, because its caller no longer reads the result.
    const usages = await meterRounds(generation.attempts, ending.outcome === "cancelled" ? undefined : countTokens);
    const result = generation.buildResult(ending, endedAtMs, sumUsages(usages));
    this.#recordMetrics(result, usages);
    return result;
  }

  async #generate(
    generation: Generation,
    request: GenerationRequest,
    { signal, cancel }: ActiveGeneration,
    sink: Sink<GenerationEvent>,
  ): Promise<GenerationEnding> {
    const { catalog, patternThreads } = this.#deps;
    const candidates = catalog.findCandidates(request.model);
    if (candidates === undefined) return { outcome: "model_unknown", reason: "", finishDetail: "" };
    const toolbox = await this.#openToolbox(candidates, request, signal);
    try {
      const moderation = moderateCompletion({ threads: patternThreads, request, sink, stop: cancel });
      return await moderation.finish(await generation.run(candidates, toolbox, moderation));
    } finally {
      void toolbox?.close();
    }
  }

  /** Returns undefined if the bot has no tools or no candidate can call tools. */
  async #openToolbox(candidates: readonly Candidate[], request: GenerationRequest, signal: AbortSignal) {
    const { tools, canRequestHuman } = request.prompt;
    const canCallTools = candidates.some(({ guardedProvider }) => guardedProvider.settings.kind !== "builtin");
    return (tools.length > 0 || canRequestHuman) && canCallTools
      ? this.#deps.tools.openToolbox(tools, { ...request, canRequestHuman }, signal)
      : undefined;
  }

  #reportFailure({ turnId }: GenerationRequest, candidate: Candidate, failure: ProviderFailure, next: NextStep): void {
    const { metrics, log } = this.#deps;
    const { guardedProvider, model } = candidate;
    const { code, reason, detail, cause, providerError } = failure;
    metrics.attemptFailures.inc({ provider: guardedProvider.settings.name, reason, next });
    log.warn({ turn_id: turnId, model, code, reason, next, ...toLogFields(providerError) }, "attempt failed");
    if (detail !== "") log.debug({ turn_id: turnId, model, detail }, "cause of the failed attempt");
    if (reason === "internal") log.error({ turn_id: turnId, error: cause }, "attempt failed unexpectedly");
  }

  #recordMetrics(result: GenerationResult, usages: readonly RoundUsage[]): void {
    const { generations, queueWait, operations } = this.#deps.metrics;
    const provider = result.provider || "none";
    generations.inc({ provider, outcome: result.outcome });
    queueWait.observe({ provider }, result.queueMs / 1_000);
    for (const { request, isSent, startedAtMs, queueMs, firstTextAtMs, endedAtMs, failure } of result.attempts) {
      if (!isSent) continue;
      const operation = this.#operationOf(request.candidate);
      const sentAtMs = startedAtMs + queueMs;
      operations.recordDuration(operation, endedAtMs - sentAtMs, failure && errorTypeOf(failure));
      if (firstTextAtMs !== undefined) operations.recordFirstChunk(operation, firstTextAtMs - sentAtMs);
    }
    for (const { candidate, tokensIn, tokensOut, cost } of usages) {
      const operation = this.#operationOf(candidate);
      operations.recordTokens(operation, "input", tokensIn);
      operations.recordTokens(operation, "output", tokensOut);
      if (cost !== null) operations.recordCost(operation, cost);
    }
  }

  #operationOf(candidate: Candidate): Operation {
    const model = this.#deps.catalog.getModelLabel(candidate);
    return { name: "chat", provider: candidate.guardedProvider.settings.name, model };
  }
}

/** Returns no fields if the provider reported nothing. */
function toLogFields({ status, code, message }: ProviderError): Record<string, unknown> {
  if (status === 0 && code === "" && message === "") return {};
  return { provider_status: status, provider_code: code, provider_message: message };
}
