import type { PatternThreads } from "@parley/bot-rules/moderation";
import type { Prompt } from "@parley/rpc/llm";
import type { Logger } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import type { Candidate, Catalog, Take } from "../providers/index.ts";
import type { Toolbox, Tools } from "../tools/index.ts";
import type { ActiveCall, ActiveCalls } from "./active-generations.ts";
import type { CallRecord } from "./call-record.ts";
import { type ReplyDeps, type ReplyEvent, reply } from "./generate.ts";
import { filtered } from "./reply-moderation.ts";

export type ResponderDeps = Pick<ReplyDeps, "now" | "random" | "countTokens"> & {
  catalog: Catalog;
  activeCalls: ActiveCalls;
  tools: Pick<Tools, "open">;
  patternThreads: Pick<PatternThreads, "match">;
  metrics: Metrics;
  log: Logger;
};

/** A reply under way. */
export type Reply = {
  /** Resolves when nothing more comes of it, never rejects; the record then says how it ended. */
  done: Promise<void>;
  /** Ends it early: nobody wants it any more. */
  cancel: () => void;
};

/** Answers prompts with whichever provider they name, and sees to it that every answer has an outcome. */
export class Responder {
  readonly #deps: ResponderDeps;

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
  }

  /** Begins a reply and tells `take` what it is made of. */
  respond(record: CallRecord, prompt: Prompt, caller: AbortSignal, take: Take<ReplyEvent>): Reply {
    const call = this.#deps.activeCalls.enter(caller);
    return { done: this.#answer(record, prompt, call, take), cancel: call.cancel };
  }

  async #answer(record: CallRecord, prompt: Prompt, call: ActiveCall, take: Take<ReplyEvent>): Promise<void> {
    const { catalog, patternThreads, log, now } = this.#deps;
    const { signal, cancel, leave } = call;
    let toolbox: Toolbox | undefined;
    try {
      const candidates = catalog.candidates(record.asked);
      if (candidates === undefined) {
        record.outcome = "model_unknown";
        return;
      }
      toolbox = await this.#openToolbox(candidates, prompt, record, signal);
      const shown = filtered(patternThreads, take, prompt, record, cancel);
      await reply(candidates, { prompt, toolbox }, record, signal, this.#replyDeps(record, shown), shown.take);
      await shown.end();
    } catch (error) {
      log.error({ error, turn_id: record.turnId }, "a reply failed in a way nobody foresaw");
      record.outcome = "provider_error";
      record.reason = "internal";
    } finally {
      void toolbox?.close();
      leave();
      record.outcome ??= "cancelled";
      record.endedAtMs = now();
      this.#observe(record);
    }
  }

  /** Undefined when there is nothing to call, or nobody who could. */
  async #openToolbox(candidates: readonly Candidate[], prompt: Prompt, record: CallRecord, signal: AbortSignal) {
    const canCall = candidates.some(({ guarded }) => guarded.settings.kind !== "builtin");
    return prompt.tools.length > 0 && canCall ? this.#deps.tools.open(prompt.tools, record, signal) : undefined;
  }

  #replyDeps(record: CallRecord, { settled }: Pick<ReplyDeps, "settled">): ReplyDeps {
    const { now, random, countTokens, metrics, log } = this.#deps;
    return {
      countTokens,
      now,
      random,
      settled,
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
