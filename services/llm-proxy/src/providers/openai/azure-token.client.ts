import type { AccessToken } from "@azure/identity";
import { failureFromCredentialsError } from "../failure.ts";
import { waitUnlessAborted } from "../wait-unless-aborted.ts";

/** A token service answers within a second. The library tries again after errors. */
const TIMEOUT_MS = 10_000;

/** A token that is valid for at least this long is used while the library renews it, even if the token service fails. */
const MIN_VALIDITY_MS = 60_000;

/** Returns an access token. Throws ProviderFailure if there is none, or the signal's reason if it is aborted. */
export type ReadToken = (signal: AbortSignal) => Promise<string>;

/**
 * Returns a function that returns an access token of Azure for a scope. Finds the credentials as all libraries of Azure do: the workload identity of a
 * cluster, the identity of a virtual machine, or environment variables. The library is loaded here, keeps the token, and renews it.
 */
export function createAzureToken(scope: string): ReadToken {
  const credential = import("@azure/identity").then(
    // Without the discovery, the library asks no other server than the token service of AZURE_AUTHORITY_HOST.
    ({ DefaultAzureCredential }) => new DefaultAzureCredential({ disableInstanceDiscovery: true }),
  );
  // The error is reported by the requests that await the promise.
  credential.catch(() => undefined);
  let last: AccessToken | undefined;
  const requestToken = async () => {
    const abortSignal = AbortSignal.timeout(TIMEOUT_MS);
    last = await waitUnlessAborted((await credential).getToken(scope, { abortSignal }), abortSignal);
    return last.token;
  };
  // One request for all replies that wait for a token, so no reply cancels it.
  let pending: Promise<string> | undefined;
  return async (signal) => {
    pending ??= requestToken().finally(() => {
      pending = undefined;
    });
    const token = pending.catch((error: unknown) => {
      throw failureFromCredentialsError(error);
    });
    // The library renews some tokens hours before they expire, and waits for the token service.
    if (last !== undefined && last.expiresOnTimestamp - Date.now() >= MIN_VALIDITY_MS) {
      token.catch(() => undefined);
      return last.token;
    }
    return waitUnlessAborted(token, signal);
  };
}
