import { HttpError } from "../http/index.ts";

/** Keys are cached for 4 s, so that a revocation ends the stream within 5 s. */
const CHECK_MS = 500;

/**
 * Checks the permission of a stream until it is released. `signal` is aborted when `isPermitted` returns false or throws 401. Another error changes
 * nothing, because the conversation service may be away.
 */
export function watchKey(isPermitted: () => Promise<boolean>): { signal: AbortSignal; release: () => void } {
  const refusal = new AbortController();
  let isChecking = false;
  const timer = setInterval(async () => {
    if (isChecking) return;
    isChecking = true;
    const isRefused = await isPermitted().then(
      (isStillPermitted) => !isStillPermitted,
      (error: unknown) => error instanceof HttpError && error.status === 401,
    );
    isChecking = false;
    if (isRefused) refusal.abort();
  }, CHECK_MS);
  return { signal: refusal.signal, release: () => clearInterval(timer) };
}
