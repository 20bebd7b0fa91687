import { ActiveMap } from "@parley/service-kit";
import { CallCancelled, ProviderFailure } from "../providers/index.ts";

/** A call being answered. */
export type ActiveCall = {
  /** Aborted with CallCancelled by `cancel` or when the caller goes away, and with ProviderFailure by `endAll`. */
  signal: AbortSignal;
  cancel: () => void;
  /** To be called at its end. */
  leave: () => void;
};

/** The calls being answered, so that they can be ended when the service has to go. */
export class ActiveCalls {
  readonly #calls = new ActiveMap<number, AbortController>();
  #nextId = 0;
  readonly #onCount: (count: number) => void;

  /** `onCount` is told how many there are whenever that changes. */
  constructor(onCount: (count: number) => void) {
    this.#onCount = onCount;
  }

  /** Counts a call that begins. */
  enter(caller: AbortSignal): ActiveCall {
    const call = new AbortController();
    const cancel = () => call.abort(new CallCancelled());
    if (caller.aborted) cancel();
    else caller.addEventListener("abort", cancel, { once: true });
    const id = this.#nextId++;
    this.#calls.set(id, call);
    this.#onCount(this.#calls.size);
    return {
      signal: call.signal,
      cancel,
      leave: () => {
        caller.removeEventListener("abort", cancel);
        this.#calls.delete(id);
        this.#onCount(this.#calls.size);
      },
    };
  }

  /** Ends every call as failed: its caller is told, its provider is left. */
  endAll(): void {
    for (const [, call] of this.#calls) call.abort(new ProviderFailure("provider_error", "draining"));
  }
}
