/**
 * Returns a signal that is aborted as soon as one of the signals is, with its reason. Firefox ESR 115 and Safari before 17.4 have no
 * AbortSignal.any.
 */
export function anySignal(...signals: readonly AbortSignal[]): AbortSignal {
  if ("any" in AbortSignal) {
    // Unlike the listeners below, it does not outlive the returned signal.
    return AbortSignal.any([...signals]);
  }
  const controller = new AbortController();
  for (const signal of signals) {
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort, { signal: controller.signal });
  }
  return controller.signal;
}
