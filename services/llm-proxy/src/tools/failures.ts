import { EgressError } from "@parley/service-kit";
import { ToolFailure, type ToolStatus } from "./tool-call.ts";

const STATUS: Record<EgressError["code"], ToolStatus> = {
  timeout: "timeout",
  too_large: "too_large",
  url_refused: "not_allowed",
  address_refused: "not_allowed",
  too_many_redirects: "failed",
  unreachable: "failed",
};

const MESSAGES: Partial<Record<ToolStatus, string>> = {
  timeout: "the tool did not answer in time",
  too_large: "the tool's answer is too large",
  not_allowed: "the tool is not available",
};

/** A failure of ours, in words of ours: what was not foreseen is told neither to the model nor, through it, to the visitor. */
export function failureOf(status: ToolStatus, detail: string): ToolFailure {
  return new ToolFailure(status, MESSAGES[status] ?? "the tool cannot be reached", detail);
}

/** Whatever a call threw, as what the model is told of it. */
export function toToolFailure(error: unknown): ToolFailure {
  for (const each of chainOf(error)) {
    if (each instanceof ToolFailure) return each;
    if (each instanceof EgressError) return failureOf(STATUS[each.code], each.code);
  }
  return failureOf("failed", chainOf(error).map(nameOf).join(" < "));
}

function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) chain.push(each);
  return chain;
}

/** Its class and code; never its message, which may hold what a stranger wrote. */
function nameOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return /^[\w-]{1,40}$/.test(String(code)) && code !== undefined ? `${error.name}(${String(code)})` : error.name;
}
