import { Ongoing } from "@parley/service-kit";
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
  readonly #calls = new Ongoing<AbortController>();
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
    const remove = this.#calls.add(call);
    this.#onCount(this.#calls.size);
    return {
      signal: call.signal,
      cancel,
      leave: () => {
        caller.removeEventListener("abort", cancel);
        remove();
        this.#onCount(this.#calls.size);
      },
    };
  }

  /** Ends every call as failed: its caller is told, its provider is left. */
  endAll(): void {
    for (const call of this.#calls) call.abort(new ProviderFailure("provider_error", "draining"));
  }
}
