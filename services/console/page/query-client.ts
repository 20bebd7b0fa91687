import { Code, ConnectError } from "@connectrpc/connect";
import { QueryClient } from "@tanstack/react-query";
import { isNoResponse, isSignedOut } from "./api/session-fetch.ts";

const MAX_RETRIES = 2;
const STALE_MS = 15_000;

/** Whether the same request may succeed when it is repeated. */
function canRetry(error: unknown): boolean {
  if (isSignedOut(error)) return false;
  // isNoResponse is checked before the code, because Connect wraps the error of a broken connection in a ConnectError with the code Unknown.
  if (isNoResponse(error) || !(error instanceof ConnectError)) return true;
  return [Code.Unavailable, Code.DeadlineExceeded].includes(error.code);
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      retry: (failures, error) => failures < MAX_RETRIES && canRetry(error),
      refetchOnWindowFocus: false,
    },
  },
});
