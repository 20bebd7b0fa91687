/** Resolves after a number of milliseconds, or when the signal is aborted during the wait. Callers check beforehand whether it is aborted already. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
}
