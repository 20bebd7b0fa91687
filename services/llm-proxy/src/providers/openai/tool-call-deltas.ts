import type { ToolRequest } from "../../tools/index.ts";
import { failureFromReason } from "./failure.ts";

const MAX_CALLS = 64;
const MAX_ARGUMENTS_CHARACTERS = 64 * 1024;
const MAX_NAME_CHARACTERS = 128;

type Delta = { index?: unknown; id?: unknown; function?: unknown };
type PartialCall = ToolRequest & { index: number | undefined };

/** Assembles tool calls from the deltas of a stream. */
export class ToolCallAssembler {
  readonly #calls: PartialCall[] = [];

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** The calls so far that have a name. */
  get requests(): ToolRequest[] {
    return this.#calls
      .filter(({ name }) => name !== "")
      .map((call, position) => ({ id: call.id || `call_${position}`, name: call.name, arguments: call.arguments }));
  }

  /** Adds the deltas of one chunk. Throws ProviderFailure when they are malformed or too large. */
  push(deltas: readonly unknown[]): void {
    for (const delta of deltas) this.#add(delta);
  }

  #add(delta: unknown): void {
    if (!isObject(delta)) throw failureFromReason("malformed");
    const { index, id, function: fields } = delta as Delta;
    const call = this.#findOrStartCall(typeof index === "number" ? index : undefined, typeof id === "string" ? id : "");
    if (fields === undefined || fields === null) return;
    if (!isObject(fields)) throw failureFromReason("malformed");
    const { name, arguments: args } = fields;
    // Some providers repeat the name in every delta; none splits it.
    if (call.name === "" && typeof name === "string") call.name = name.slice(0, MAX_NAME_CHARACTERS);
    call.arguments += isObject(args) ? JSON.stringify(args) : typeof args === "string" ? args : "";
    if (call.arguments.length > MAX_ARGUMENTS_CHARACTERS) throw failureFromReason("too_large");
  }

  /**
   * Returns the call with the delta's index, or the last call if the delta has no index. Starts a new call if there is none, or if the delta
   * has a different id.
   */
  #findOrStartCall(index: number | undefined, id: string): PartialCall {
    const existing = index === undefined ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    const hasOtherId = id !== "" && existing !== undefined && existing.id !== "" && existing.id !== id;
    if (existing !== undefined && !hasOtherId) {
      existing.id ||= id;
      return existing;
    }
    if (this.#calls.length >= MAX_CALLS) throw failureFromReason("too_large");
    const call: PartialCall = { index, id, name: "", arguments: "" };
    this.#calls.push(call);
    return call;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
