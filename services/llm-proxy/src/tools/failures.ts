import { EgressError, listErrorAndCauses } from "@parley/service-kit";
import { ToolFailure, type ToolStatus } from "./tool-call.ts";

const STATUS_BY_EGRESS_ERROR: Record<EgressError["code"], ToolStatus> = {
  timeout: "timeout",
  too_large: "too_large",
  url_refused: "not_allowed",
  too_many_redirects: "failed",
  unreachable: "failed",
};

const MESSAGES: Partial<Record<ToolStatus, string>> = {
  timeout: "the tool did not respond in time",
  too_large: "the tool's result is too large",
  not_allowed: "the tool is not available",
};

/** Returns a failure with a fixed message, which the model may repeat to the visitor. `detail` is for the log only. */
export function createToolFailure(status: ToolStatus, detail = ""): ToolFailure {
  return new ToolFailure(status, MESSAGES[status] ?? "the tool cannot be reached", detail);
}

/** Maps the error of a tool call to a ToolFailure. */
export function toToolFailure(error: unknown): ToolFailure {
  for (const each of listErrorAndCauses(error)) {
    if (each instanceof ToolFailure) return each;
    // The SDK's error for a response of an MCP server with an error status.
    const { code } = each as { code?: unknown };
    if (each.constructor.name === "StreamableHTTPError" && Number(code) >= 300)
      return new ToolFailure("failed", `the tool's server responded with HTTP ${String(code)}`, `http_${String(code)}`);
    if (each instanceof EgressError) return createToolFailure(STATUS_BY_EGRESS_ERROR[each.code], each.detail);
  }
  return createToolFailure("failed", listErrorAndCauses(error).map(describe).join(" < "));
}

/**
 * Runs an action and aborts its signal after `timeoutMs`. The action must then throw. Replaces an error that the action throws
 * after the timeout with a ToolFailure `timeout`, unless the error is a ToolFailure.
 */
export async function runWithTimeout<T>(timeoutMs: number, action: (deadline: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return await action(deadline);
  } catch (error) {
    if (deadline.aborted && !(error instanceof ToolFailure)) throw createToolFailure("timeout");
    throw error;
  }
}

/** Returns the error's name and code without its message: text of the tool's server in a message must not reach the log. */
function describe(error: Error): string {
  const { code } = error as { code?: unknown };
  return /^[\w-]{1,40}$/.test(String(code)) && code !== undefined ? `${error.name}(${String(code)})` : error.name;
}
