import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, openSpan } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import {
  type BreakerVerdict,
  type Catalog,
  type Embedded,
  ProviderFailure,
  retryDelayMs,
  Watchdog,
} from "../providers/index.ts";

export type EmbedderDeps = {
  catalog: Pick<Catalog, "embedder">;
  metrics: Pick<Metrics, "embeddings" | "embeddingDuration" | "embeddingTokens">;
  log: Logger;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** In [0, 1). */
  random: () => number;
};

type ConfiguredModel = NonNullable<Catalog["embedder"]>;
type NamedModel = ConfiguredModel & { id: string };

/** Turns texts into vectors with the configured model, asking its provider again where its policy says so. */
export class Embedder {
  readonly #deps: EmbedderDeps;

  constructor(deps: EmbedderDeps) {
    this.#deps = deps;
  }

  /** What is in force, with the name its vectors go by; undefined where nothing is configured. */
  get model(): NamedModel | undefined {
    const { embedder } = this.#deps.catalog;
    if (embedder === undefined) return undefined;
    const { model, dimensions } = embedder;
    return { ...embedder, id: dimensions === undefined ? model : `${model}@${dimensions}` };
  }

  /** One vector a text. Throws ProviderFailure, or the signal's reason when the caller has left. */
  async embed(
    model: ConfiguredModel,
    workspaceId: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<Embedded> {
    const { metrics, log, now, random } = this.#deps;
    const { retries, name: provider } = model.guarded.settings;
    const beganAtMs = now();
    let outcome = "cancelled";
    try {
      for (let attempts = 1; ; attempts++) {
        try {
          const embedded = await this.#attempt(model, workspaceId, texts, signal);
          metrics.embeddingTokens.inc({ provider }, embedded.tokens);
          outcome = "complete";
          return embedded;
        } catch (error) {
          if (!(error instanceof ProviderFailure)) throw error;
          outcome = error.code;
          const { code, reason, detail } = error;
          const delayMs = retryDelayMs(error, attempts, retries, random());
          log.warn({ model: model.model, code, reason, retry: delayMs !== undefined }, "a call for embeddings failed");
          if (detail !== "") log.debug({ model: model.model, detail }, "what the provider called it");
          if (delayMs === undefined) throw error;
          outcome = "cancelled";
          await sleep(delayMs, undefined, { signal });
        }
      }
    } finally {
      metrics.embeddings.inc({ provider, outcome });
      metrics.embeddingDuration.observe({ provider }, (now() - beganAtMs) / 1_000);
    }
  }

  /** Asks once, behind a breaker, a cap and a timer of its own. */
  async #attempt(
    { guarded, name, dimensions }: ConfiguredModel,
    workspaceId: string,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<Embedded> {
    const { provider, settings } = guarded;
    const { breaker, concurrency } = guarded.embeddings;
    if (provider.embed === undefined) throw new ProviderFailure("model_unknown", "no_embeddings");
    const release = await concurrency.acquire(workspaceId, signal);
    const settle = breaker.admit();
    if (settle === undefined) {
      release();
      throw new ProviderFailure("provider_error", "breaker_open");
    }
    const watchdog = new Watchdog(settings.timeouts, signal);
    const span = openSpan(`embeddings ${name}`, {
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": settings.name,
        "gen_ai.request.model": name,
      },
    });
    let verdict: BreakerVerdict = "neutral";
    let failure: string | undefined = "cancelled";
    try {
      const embedded = await provider.embed({ model: name, dimensions, texts, signal: watchdog.signal });
      verdict = "ok";
      failure = undefined;
      return embedded;
    } catch (error) {
      signal.throwIfAborted();
      const cause: unknown = watchdog.signal.aborted ? watchdog.signal.reason : error;
      if (cause instanceof ProviderFailure) {
        verdict = cause.fault ? "fault" : "ok";
        failure = cause.reason;
      }
      throw cause;
    } finally {
      watchdog.stop();
      settle(verdict);
      release();
      span?.end(failure);
    }
  }
}
