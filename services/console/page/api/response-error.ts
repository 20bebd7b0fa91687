import { Code, ConnectError } from "@connectrpc/connect";

/** Returns the error of a response that is not OK, with its code if the console or the edge sent one. */
export async function toConnectError(response: Response): Promise<ConnectError> {
  const text = await response.text().catch(() => "");
  return errorOf(response.status, text);
}

/** Returns the error of a status and a body such as `{"error": "payload_too_large"}` or `{"detail": "rate_limited"}`. */
export function errorOf(status: number, text: string): ConnectError {
  const code = readCode(text);
  const metadata = code === undefined ? undefined : { "parley-code": code };
  return new ConnectError(`the console answered ${status}`, codeOf(status), metadata);
}

function readCode(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text) as { error?: string; detail?: string };
    return error ?? detail;
  } catch {
    // A proxy sent this response. Its status is all that is known.
    return undefined;
  }
}

function codeOf(status: number): Code {
  if (status === 401) return Code.Unauthenticated;
  return status >= 500 ? Code.Unavailable : Code.Unknown;
}
