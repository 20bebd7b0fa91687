import type { ToolRequest } from "../../tools/index.ts";
import { failureFromReason } from "../failure.ts";
import { type Fields, isObject, measureJson, mergeElement, mergeFields } from "./merge-deltas.ts";
import { ToolCallAssembler, type ToolCallContext } from "./tool-call-deltas.ts";

/** Longer than any real message. Bounds the memory of a stream. */
export const MAX_CHARACTERS: number = 4 * 1024 * 1024;

/** The fields of a delta that Parley reads. The others go back to the provider as they are. */
const READ_FIELDS: ReadonlySet<string> = new Set(["role", "refusal", "content", "tool_calls", "function_call"]);

/**
 * Assembles the model's message from the deltas of a stream, with the fields that Parley does not know, such as `reasoning_content`: if the
 * message calls tools, many providers require it back unchanged. Keeps only the calls if the model was offered no tools.
 */
export class AssistantMessage {
  readonly #calls: ToolCallAssembler;
  readonly #canCallTools: boolean;
  readonly #fields: Fields = {};
  readonly #parts: unknown[] = [];
  /** Whether a field other than the role has arrived with a value, also one that Parley does not know. */
  hasOutput: boolean = false;
  #hasContent: boolean = false;
  #characters = 0;

  constructor(context: ToolCallContext) {
    this.#calls = new ToolCallAssembler(context);
    this.#canCallTools = context.toolNames.length > 0;
  }

  get hasCalls(): boolean {
    return this.#calls.hasCalls;
  }

  /** Whether no content and no tool call has arrived. */
  get isEmpty(): boolean {
    return !this.#hasContent && !this.hasCalls;
  }

  get toolRequests(): ToolRequest[] {
    return this.#calls.calls.map(({ request }) => request);
  }

  /** Adds a delta and returns its text. Throws ProviderFailure if the delta is malformed or too large. */
  push(delta: Fields): string {
    this.hasOutput ||= Object.entries(delta).some(([name, value]) => name !== "role" && hasValue(value));
    const visible = isThought(delta) ? "" : delta.content;
    const text = readText(visible);
    this.#hasContent ||= text !== "";
    this.#calls.push(toCallDeltas(delta.tool_calls, delta.function_call));
    if (this.#canCallTools) this.#collect(toParts(visible), delta);
    return text;
  }

  /** The message with its tool calls, as it must go back to the provider. */
  build(): Fields {
    const calls = this.#calls.calls.map(({ request, fields, functionFields }) => ({
      ...fields,
      id: request.id,
      type: "function",
      function: { ...functionFields, name: request.name, arguments: request.arguments },
    }));
    return { ...this.#fields, role: "assistant", content: this.#buildContent(), tool_calls: calls };
  }

  #collect(parts: readonly Fields[], delta: Fields): void {
    const fields = Object.fromEntries(Object.entries(delta).filter(([name]) => !READ_FIELDS.has(name)));
    removeThoughtMark(fields);
    this.#characters += measureJson(parts) + measureJson(fields);
    if (this.#characters > MAX_CHARACTERS) throw failureFromReason("too_large");
    for (const part of parts) mergeElement(this.#parts, part);
    mergeFields(this.#fields, fields);
  }

  #buildContent(): unknown {
    const [first, ...others] = this.#parts;
    if (first === undefined) return null;
    const isPlainText =
      others.length === 0 && isObject(first) && first.type === "text" && Object.keys(first).length === 2;
    return isPlainText ? first.text || null : this.#parts;
  }
}

function hasValue(value: unknown): boolean {
  if (typeof value === "string" || Array.isArray(value)) return value.length > 0;
  return isObject(value) && Object.keys(value).length > 0;
}

/** Gemini marks thoughts in `content`. */
function isThought({ extra_content: extra }: Fields): boolean {
  return isObject(extra) && isObject(extra.google) && extra.google.thought === true;
}

/** The mark of one delta would otherwise mark the whole message. */
function removeThoughtMark({ extra_content: extra }: Fields): void {
  if (isObject(extra) && isObject(extra.google)) delete extra.google.thought;
}

/** Returns the text of a content for the visitor: all of a text, or the parts of the type `text`. */
function readText(content: unknown): string {
  return typeof content === "string" ? content : toParts(content).map(readPart).join("");
}

/** Returns the parts of a content, which is a text or, with some providers, a list of parts. */
function toParts(content: unknown): Fields[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content) || !content.every(isObject)) throw failureFromReason("malformed");
  return content;
}

function readPart({ type, text }: Fields): string {
  if (type !== "text" || text === undefined || text === null) return "";
  if (typeof text !== "string") throw failureFromReason("malformed");
  return text;
}

/** Returns the deltas of tool calls. `function_call` is the form that preceded `tool_calls`; some gateways still send it. */
function toCallDeltas(toolCalls: unknown, functionCall: unknown): unknown[] {
  const deltas = toolCalls ?? (isPresent(functionCall) ? [{ function: functionCall }] : []);
  if (!Array.isArray(deltas)) throw failureFromReason("malformed");
  return deltas;
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;
