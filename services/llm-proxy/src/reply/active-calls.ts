import { CallCancelled, ProviderFailure } from "../domain/failure.ts";

/** The calls being answered, so that they can be ended when the service has to go. */
export class ActiveCalls {
  readonly #calls = new Set<AbortController>();
  readonly #onCount: (count: number) => void;

  /** `onCount` is told how many there are whenever that changes. */
  constructor(onCount: (count: number) => void) {
    this.#onCount = onCount;
  }

  /** A signal aborted with CallCancelled when the caller goes away, and with ProviderFailure by `endAll`; `leave` is to be called at the end. */
  enter(caller: AbortSignal): { signal: AbortSignal; leave: () => void } {
    const call = new AbortController();
    const cancel = () => call.abort(new CallCancelled());
    if (caller.aborted) cancel();
    else caller.addEventListener("abort", cancel, { once: true });
    this.#calls.add(call);
    this.#onCount(this.#calls.size);
    return {
      signal: call.signal,
      leave: () => {
        caller.removeEventListener("abort", cancel);
        this.#calls.delete(call);
        this.#onCount(this.#calls.size);
      },
    };
  }

  /** Ends every call as failed: its caller is told, its provider is left. */
  endAll(): void {
    for (const call of this.#calls) call.abort(new ProviderFailure("provider_error", "draining"));
  }
}
