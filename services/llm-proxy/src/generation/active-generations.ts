import { GenerationCancelled, ProviderFailure } from "../providers/index.ts";

export type ActiveGeneration = {
  /** Its abort reason is GenerationCancelled after a cancellation, and ProviderFailure after `failAll`. */
  signal: AbortSignal;
  cancel: () => void;
  /** Must be called when the generation has ended. */
  remove: () => void;
};

/** Holds the running generations, so that a stopping process can end them. */
export class ActiveGenerations {
  readonly #controllers = new Set<AbortController>();
  readonly #onCount: (count: number) => void;

  /** Calls `onCount` with the number of running generations whenever it changes. */
  constructor(onCount: (count: number) => void) {
    this.#onCount = onCount;
  }

  /** Adds a generation. It is cancelled when `callerSignal` is aborted. */
  add(callerSignal: AbortSignal): ActiveGeneration {
    const controller = new AbortController();
    const cancel = () => controller.abort(new GenerationCancelled());
    if (callerSignal.aborted) cancel();
    else callerSignal.addEventListener("abort", cancel, { once: true });
    this.#controllers.add(controller);
    this.#onCount(this.#controllers.size);
    return {
      signal: controller.signal,
      cancel,
      remove: () => {
        callerSignal.removeEventListener("abort", cancel);
        this.#controllers.delete(controller);
        this.#onCount(this.#controllers.size);
      },
    };
  }

  /** Fails every running generation with `provider_error`, so that its caller receives an end message. */
  failAll(): void {
    for (const controller of this.#controllers) controller.abort(new ProviderFailure("provider_error", "draining"));
  }
}
