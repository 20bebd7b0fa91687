import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, openSpan } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import {
  AttemptTimer,
  type BreakerVerdict,
  computeRetryDelayMs,
  type EmbeddingModel,
  type Embeddings,
  type Operation,
  type ProviderCatalog,
  ProviderFailure,
} from "../providers/index.ts";

export type EmbedderDeps = {
  catalog: Pick<ProviderCatalog, "embeddingModel">;
  metrics: Pick<Metrics, "embeddings" | "operations">;
  log: Logger;
  /** A monotonic clock, in milliseconds. */
  now: () => number;
  /** Returns a random number in [0, 1), for the jitter of retries. */
  random: () => number;
};

/** Embeds texts with the configured model. Retries as the provider's settings say. */
export class Embedder {
  readonly #deps: EmbedderDeps;

  constructor(deps: EmbedderDeps) {
    this.#deps = deps;
  }

  /** The configured model, if any. Only vectors from models with the same `id` are comparable. */
  get model(): (EmbeddingModel & { id: string }) | undefined {
    const { embeddingModel } = this.#deps.catalog;
    if (embeddingModel === undefined) return undefined;
    const { model, dimensions } = embeddingModel;
    return { ...embeddingModel, id: dimensions === undefined ? model : `${model}@${dimensions}` };
  }

  /**
   * Returns one vector per text. Throws ProviderFailure, or an unexpected error unchanged. If the call is cancelled, throws the signal's reason
   * or, between attempts, an AbortError.
   */
  async embed(
    model: EmbeddingModel,
    workspaceId: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<Embeddings> {
    const { metrics, log, random } = this.#deps;
    const { retries, name: provider } = model.guardedProvider.settings;
    let outcome = "cancelled";
    try {
      for (let attempts = 1; ; attempts++) {
        try {
          const embeddings = await this.#attempt(model, workspaceId, texts, signal);
          outcome = "complete";
          return embeddings;
        } catch (error) {
          if (!(error instanceof ProviderFailure)) {
            if (!signal.aborted) outcome = "provider_error";
            throw error;
          }
          outcome = error.code;
          const { code, reason, detail } = error;
          const delayMs = computeRetryDelayMs(error, attempts, retries, random());
          const next = delayMs === undefined ? "end" : "retry";
          log.warn({ model: model.model, code, reason, next }, "embedding attempt failed");
          if (detail !== "") log.debug({ model: model.model, detail }, "cause of the failed embedding attempt");
          if (delayMs === undefined) throw error;
          // The outcome if the call is cancelled during the wait or the next attempt.
          outcome = "cancelled";
          await sleep(delayMs, undefined, { signal });
        }
      }
    } finally {
      metrics.embeddings.inc({ provider, outcome });
    }
  }

  async #attempt(
    { guardedProvider, name, dimensions }: EmbeddingModel,
    workspaceId: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<Embeddings> {
    const { provider, settings } = guardedProvider;
    const { breaker, concurrency } = guardedProvider.embeddings;
    if (provider.embed === undefined) throw new ProviderFailure("model_unknown", "no_embeddings");
    const release = await concurrency.acquire(workspaceId, signal);
    const reportVerdict = breaker.admit();
    if (reportVerdict === undefined) {
      release();
      throw new ProviderFailure("provider_error", "breaker_open");
    }
    const { metrics, now } = this.#deps;
    const operation: Operation = { name: "embeddings", provider: settings.name, model: name };
    const startedAtMs = now();
    const attemptTimer = new AttemptTimer(settings.timeouts, signal);
    const span = openSpan(`embeddings ${name}`, {
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": settings.name,
        "gen_ai.request.model": name,
      },
    });
    let verdict: BreakerVerdict = "neutral";
    let errorType: string | undefined = "cancelled";
    try {
      const embeddings = await provider.embed({ model: name, dimensions, texts, signal: attemptTimer.signal });
      metrics.operations.recordTokens(operation, "input", embeddings.tokens);
      verdict = "ok";
      errorType = undefined;
      return embeddings;
    } catch (error) {
      signal.throwIfAborted();
      errorType = "internal";
      const cause: unknown = attemptTimer.signal.aborted ? attemptTimer.signal.reason : error;
      if (cause instanceof ProviderFailure) {
        verdict = cause.isProviderFault ? "fault" : "ok";
        errorType = cause.reason;
      }
      throw cause;
    } finally {
      attemptTimer.stop();
      reportVerdict(verdict);
      release();
      metrics.operations.recordDuration(operation, now() - startedAtMs, errorType);
      span?.end(errorType);
    }
  }
}
