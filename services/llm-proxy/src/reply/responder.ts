import type { Prompt } from "@parley/rpc/llm";
import type { Logger } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import type { Catalog } from "../providers/catalog.ts";
import type { ActiveCalls } from "./active-calls.ts";
import type { CallRecord } from "./call-record.ts";
import { type ReplyDeps, reply } from "./reply.ts";

export type ResponderDeps = Pick<ReplyDeps, "now" | "random"> & {
  catalog: Catalog;
  activeCalls: ActiveCalls;
  metrics: Metrics;
  log: Logger;
};

/** Answers prompts with whichever provider they name, and sees to it that every answer has an outcome. */
export class Responder {
  readonly #deps: ResponderDeps;

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
  }

  /** Streams a reply's text. Never throws; afterwards, or when the reader has left early, the record says how it ended. */
  async *respond(record: CallRecord, prompt: Prompt, caller: AbortSignal): AsyncGenerator<string> {
    const { catalog, activeCalls, log, now } = this.#deps;
    const { signal, leave } = activeCalls.enter(caller);
    try {
      const candidates = catalog.candidates(record.asked);
      if (candidates === undefined) {
        record.outcome = "model_unknown";
        return;
      }
      yield* reply(candidates, prompt, record, signal, this.#replyDeps(record));
    } catch (error) {
      log.error({ error, turn_id: record.turnId }, "a reply failed in a way nobody foresaw");
      record.outcome = "provider_error";
      record.reason = "internal";
    } finally {
      leave();
      record.outcome ??= "cancelled";
      record.endedAtMs = now();
      this.#observe(record);
    }
  }

  #replyDeps(record: CallRecord): ReplyDeps {
    const { now, random, metrics, log } = this.#deps;
    return {
      now,
      random,
      onFailure: ({ model, guarded }, { code, reason, detail }, next) => {
        metrics.attemptFailures.inc({ provider: guarded.settings.name, reason, next });
        log.warn({ turn_id: record.turnId, model, code, reason, next }, "a call to a provider failed");
        if (detail !== "") log.debug({ turn_id: record.turnId, model, detail }, "what the provider called it");
      },
    };
  }

  #observe(record: CallRecord): void {
    const { metrics } = this.#deps;
    const { startedAtMs, firstTokenAtMs, endedAtMs = startedAtMs, outcome = "cancelled" } = record;
    const provider = record.provider || "none";
    metrics.calls.inc({ provider, outcome });
    metrics.duration.observe({ provider, outcome }, (endedAtMs - startedAtMs) / 1_000);
    metrics.queueWait.observe({ provider }, record.queueMs / 1_000);
    if (firstTokenAtMs !== undefined) metrics.firstToken.observe({ provider }, (firstTokenAtMs - startedAtMs) / 1_000);
  }
}
