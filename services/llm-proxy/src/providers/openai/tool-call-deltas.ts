import type { ToolRequest } from "../../tools/index.ts";
import { ProviderFailure } from "../failure.ts";

const MAX_CALLS = 64;
const MAX_ARGUMENTS_CHARACTERS = 64 * 1024;
const MAX_NAME_CHARACTERS = 128;

type Delta = { index?: unknown; id?: unknown; function?: unknown };
type Assembled = ToolRequest & { index: number | undefined };

/** Puts together the calls of tools that a stream brings in pieces. */
export class ToolCallDeltas {
  readonly #calls: Assembled[] = [];

  get hasBegun(): boolean {
    return this.#calls.length > 0;
  }

  /** The calls as far as they have come; one without a name is no call. */
  get requests(): ToolRequest[] {
    return this.#calls
      .filter(({ name }) => name !== "")
      .map(({ id, name, arguments: given }, position) => ({ id: id || `call_${position}`, name, arguments: given }));
  }

  /** Takes what one chunk brought. Throws ProviderFailure when it is none of what calls are made of, or too much of it. */
  push(deltas: readonly unknown[]): void {
    for (const delta of deltas) this.#take(delta);
  }

  #take(delta: unknown): void {
    if (!isObject(delta)) throw broken("malformed");
    const { index, id, function: called } = delta as Delta;
    const call = this.#callOf(typeof index === "number" ? index : undefined, typeof id === "string" ? id : "");
    if (called === undefined || called === null) return;
    if (!isObject(called)) throw broken("malformed");
    const { name, arguments: given } = called;
    // Some send the whole name with every piece, none sends it in pieces.
    if (call.name === "" && typeof name === "string") call.name = name.slice(0, MAX_NAME_CHARACTERS);
    call.arguments += isObject(given) ? JSON.stringify(given) : typeof given === "string" ? given : "";
    if (call.arguments.length > MAX_ARGUMENTS_CHARACTERS) throw broken("too_large");
  }

  /** The call a piece belongs to: that of its index, unless its id says that another has begun; without an index the last one. */
  #callOf(index: number | undefined, id: string): Assembled {
    const known = index === undefined ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    const isAnother = known === undefined || (id !== "" && known.id !== "" && known.id !== id);
    if (!isAnother) {
      known.id ||= id;
      return known;
    }
    if (this.#calls.length >= MAX_CALLS) throw broken("too_large");
    const call: Assembled = { index, id, name: "", arguments: "" };
    this.#calls.push(call);
    return call;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function broken(reason: string): ProviderFailure {
  return new ProviderFailure("provider_error", reason, { fault: true });
}
