import type { ToolRequest } from "../../tools/index.ts";
import { failureFromReason } from "../failure.ts";
import { type Fields, isObject, mergeFields } from "./merge-deltas.ts";

export const MAX_CALLS = 64;
export const MAX_ARGUMENTS_CHARACTERS: number = 64 * 1024;
const MAX_NAME_CHARACTERS = 128;
/** Limit of checks whether long arguments are complete. Real providers cause a few: each check parses all arguments so far. */
const MAX_LONG_CHECKS = 1_000;
const LONG_ARGUMENTS_CHARACTERS = 1_000;

type PartialCall = {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  /** The other fields of the call and of its `function`, such as a thought signature. */
  fields: Fields;
  functionFields: Fields;
};

/** A part of a call. Empty strings if the provider left a field out. */
type Delta = PartialCall;

/** A call with the fields that must go back to its provider. */
export type AssembledCall = { request: ToolRequest; fields: Fields; functionFields: Fields };

export type ToolCallContext = {
  /** The names of the tools that the model may call. They show where a name that arrives in parts ends. */
  toolNames: readonly string[];
  /** The number of earlier rounds of tool calls in the generation. Makes the ids unique that Parley gives to calls without ids. */
  round: number;
};

/**
 * Assembles tool calls from the deltas of a stream. Providers differ in how they mark the deltas of one call: by its index, by its id, or by
 * neither, so that a new name or complete arguments must show where a call ends.
 */
export class ToolCallAssembler {
  readonly #context: ToolCallContext;
  readonly #calls: PartialCall[] = [];
  #longChecks = 0;

  constructor(context: ToolCallContext) {
    this.#context = context;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** The calls so far that have a name. Calls without an id, or with the id of an earlier call, get an id. */
  get calls(): AssembledCall[] {
    const ids = new Set<string>();
    return joinNamelessCalls(this.#calls).map((call, position) => {
      const isUsable = call.id !== "" && !ids.has(call.id);
      const id = isUsable ? call.id : createCallId(this.#context.round, position);
      ids.add(id);
      const request = { id, name: call.name, arguments: normalizeArguments(call.arguments) };
      return { request, fields: call.fields, functionFields: call.functionFields };
    });
  }

  /** Adds the deltas of one chunk. Throws ProviderFailure when they are malformed or too large. */
  push(deltas: readonly unknown[]): void {
    if (deltas.length === 0) return;
    const continuedInChunk = new Set<PartialCall>();
    for (const each of deltas) {
      const delta = parseDelta(each);
      const found = this.#findCall(delta);
      const isOther = found === undefined || this.#startsOther(found, delta, continuedInChunk.has(found));
      const call = isOther ? this.#startCall(delta) : found;
      this.#append(call, delta);
      continuedInChunk.add(call);
    }
  }

  #startCall({ index, id }: Delta): PartialCall {
    if (this.#calls.length >= MAX_CALLS) throw failureFromReason("too_large");
    const call = { index, id, name: "", arguments: "", fields: {}, functionFields: {} };
    this.#calls.push(call);
    return call;
  }

  /** Returns the call that a delta belongs to by its index, else by its id, else by its position after the last call. */
  #findCall({ index, id }: Delta): PartialCall | undefined {
    const withId = (calls: readonly PartialCall[]) =>
      id === "" ? undefined : calls.findLast((call) => call.id === id);
    if (index === undefined) return withId(this.#calls) ?? this.#calls.at(-1);
    return (
      this.#calls.findLast((call) => call.index === index) ??
      withId(this.#calls.filter((call) => call.index === undefined))
    );
  }

  /** Whether a delta starts another call than the one that #findCall returned for it. A delta without a name continues that call. */
  #startsOther(call: PartialCall, delta: Delta, isContinuedInChunk: boolean): boolean {
    const { name, index, id } = delta;
    if (name === "" || call.name === "") return false;
    const hasIndex = index !== undefined;
    const hasSameId = id !== "" && id === call.id;
    const hasOtherId = id !== "" && call.id !== "" && !hasSameId;
    const isComplete = this.#isComplete(call);
    const isRepetition = delta.arguments.trim() === call.arguments.trim();
    if (hasSameId && hasIndex) return false;
    // The list of calls in one chunk usually has one element per call.
    if (isContinuedInChunk && !(hasIndex && name === call.name && !isComplete)) return true;
    if (hasSameId) return isComplete && isCompleteJson(delta.arguments) && !isRepetition;
    if (name !== call.name && !this.#isNamePart(call, name)) return true;
    if (hasOtherId) return hasIndex ? isComplete : !isRestOfArguments(call, delta);
    // Some providers repeat the whole call in their last chunk.
    return isComplete && delta.arguments !== "" && !(hasIndex && isRepetition);
  }

  /** Whether `name` continues the name of a call. */
  #isNamePart(call: PartialCall, name: string): boolean {
    return call.arguments === "" && this.#context.toolNames.some((each) => each.startsWith(call.name + name));
  }

  /** Throws ProviderFailure above MAX_LONG_CHECKS. */
  #isComplete({ arguments: text }: PartialCall): boolean {
    if (!text.trimEnd().endsWith("}")) return false;
    if (text.length > LONG_ARGUMENTS_CHARACTERS && ++this.#longChecks > MAX_LONG_CHECKS)
      throw failureFromReason("too_large");
    return isCompleteJson(text);
  }

  #append(call: PartialCall, delta: Delta): void {
    call.index ??= delta.index;
    call.id ||= delta.id;
    // Some providers repeat the name in every delta, and others send it in parts.
    if (call.name === "" || (delta.name !== call.name && this.#isNamePart(call, delta.name)))
      call.name = (call.name + delta.name).slice(0, MAX_NAME_CHARACTERS);
    // A whole object after whole arguments repeats them, or replaces the `{}` that some providers send first.
    const isWhole = /^\s*\{/.test(delta.arguments) && this.#isComplete(call);
    call.arguments = isWhole ? delta.arguments : call.arguments + delta.arguments;
    if (call.arguments.length > MAX_ARGUMENTS_CHARACTERS) throw failureFromReason("too_large");
    mergeFields(call.fields, delta.fields);
    mergeFields(call.functionFields, delta.functionFields);
  }
}

/** Appends the arguments of calls without a name to the call before them. They are its rest if a provider counts the index up with each delta. */
function joinNamelessCalls(calls: readonly PartialCall[]): PartialCall[] {
  const joined: PartialCall[] = [];
  for (const call of calls) {
    const previous = joined.at(-1);
    if (call.name !== "") joined.push({ ...call });
    else if (previous !== undefined && !isCompleteJson(previous.arguments)) previous.arguments += call.arguments;
  }
  return joined;
}

function parseDelta(delta: unknown): Delta {
  if (!isObject(delta)) throw failureFromReason("malformed");
  const { index, id, type: _type, function: nested, ...rest } = delta;
  const isFlat = nested === undefined || nested === null;
  if (!isFlat && !isObject(nested)) throw failureFromReason("malformed");
  const { name, arguments: args, ...others } = isFlat ? rest : nested;
  return {
    index: typeof index === "number" ? index : undefined,
    id: typeof id === "string" || typeof id === "number" ? String(id) : "",
    name: typeof name === "string" ? name : "",
    arguments: isObject(args) ? JSON.stringify(args) : typeof args === "string" ? args : "",
    fields: isFlat ? others : rest,
    functionFields: isFlat ? {} : others,
  };
}

/** Whether the arguments of a delta can only be the rest of a call's arguments. */
function isRestOfArguments(call: PartialCall, delta: Delta): boolean {
  return call.arguments !== "" && !isCompleteJson(call.arguments) && !/^\s*(\{|$)/.test(delta.arguments);
}

function isCompleteJson(text: string): boolean {
  return /\}\s*$/.test(text) && parseJson(text) !== undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns `{}` for no arguments, and the object within arguments that are encoded twice. Other arguments stay as the model wrote them. */
function normalizeArguments(text: string): string {
  if (text.trim() === "") return "{}";
  const value = parseJson(text);
  if (value === null) return "{}";
  return typeof value === "string" && (value.trim() === "" || isObject(parseJson(value)))
    ? normalizeArguments(value)
    : text;
}

/**
 * Returns the id that Parley gives a tool call without a usable one. Unique in a generation. It has nine letters and digits, because Mistral
 * refuses all other ids.
 */
export function createCallId(round: number, position: number): string {
  return `c${String(round).padStart(4, "0")}${String(position).padStart(4, "0")}`;
}
