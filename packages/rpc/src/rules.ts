import {
  type DescEnumValue,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { isDay, isEmail, isLongerThan, isMonth, isSlug, isUtcTime, isUuid, isWorkspaceId } from "./formats.ts";
import { type FieldRules, rules as rulesOption, TextFormat } from "./gen/parley/rpc/v1/rules_pb.js";

/** Why a request is refused: a stable code, and a sentence that begins with the name of the field. */
export type InvalidField = { code: string; message: string };

type Format = { isValid: (text: string) => boolean; sentence: string };

const ANY_TEXT: Format = { isValid: () => true, sentence: "" };
const FORMATS: Readonly<Record<TextFormat, Format>> = {
  [TextFormat.UNSPECIFIED]: ANY_TEXT,
  [TextFormat.UUID]: { isValid: isUuid, sentence: "be a UUID" },
  [TextFormat.WORKSPACE_ID]: { isValid: isWorkspaceId, sentence: "be 1 to 64 characters of A-Z a-z 0-9 . _ -" },
  [TextFormat.SLUG]: { isValid: isSlug, sentence: "have 1 to 64 characters of a-z 0-9 -" },
  [TextFormat.MONTH]: { isValid: isMonth, sentence: "look like 2026-11" },
  [TextFormat.DAY]: { isValid: isDay, sentence: "look like 2026-11-22" },
  [TextFormat.EMAIL]: { isValid: isEmail, sentence: "be an e-mail address, such as ada@example.com" },
  [TextFormat.UTC_TIME]: { isValid: isUtcTime, sentence: "be a time in UTC like 2026-11-22T18:50:00Z" },
};

type Limits = { min: number; max: number };

/** Returns the limits that a request's field declares in its proto. */
export function limitsOf(field: DescField): Limits {
  return toLimits(field, getOption(field, rulesOption));
}

/** Returns the limits of each entry of a list, or of each value of a map, that a request's field declares in its proto. */
export function entryLimitsOf(field: DescField): Limits {
  return toLimits(field, getOption(field, rulesOption).each);
}

/** Returns the values that a request's field, or each entry of a list, permits by its proto; none if it permits any. */
export function permittedValuesOf(field: DescField): readonly string[] {
  const { in: values, each } = getOption(field, rulesOption);
  return each?.in ?? values;
}

function toLimits(
  { parent, name }: DescField,
  { min = 0, max }: Partial<Pick<FieldRules, "min" | "max">> = {},
): Limits {
  if (max === undefined) throw new Error(`${parent.typeName}.${name} has no maximum`);
  return { min, max };
}

/** Returns why a request breaks the rules of its proto; undefined if it is valid. */
export function findInvalidField(schema: DescMessage, message: Message): InvalidField | undefined {
  for (const check of checksOf(schema)) {
    const invalid = check(message);
    if (invalid !== undefined) return invalid;
  }
  return undefined;
}

type Check<T> = (value: T) => InvalidField | undefined;

const checksBySchema = new Map<DescMessage, Check<Message>[]>();

/** Returns one check for each field that has rules, or that contains messages whose fields have rules. */
function checksOf(schema: DescMessage): Check<Message>[] {
  const known = checksBySchema.get(schema);
  if (known !== undefined) return known;
  const checks: Check<Message>[] = [];
  // Stored before the fields are visited, because a message may contain itself.
  checksBySchema.set(schema, checks);
  for (const field of schema.fields) {
    const check = createFieldCheck(field);
    if (check !== undefined) checks.push((message) => check(readField(message as unknown as Fields, field)));
  }
  return checks;
}

type Fields = Record<string, unknown>;

function readField(message: Fields, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return message[localName];
  const selected = message[oneof.localName] as { case?: string; value?: unknown };
  return selected.case === localName ? selected.value : undefined;
}

function createFieldCheck(field: DescField): Check<unknown> | undefined {
  const checkNested = createNestedCheck(field);
  if (!hasOption(field, rulesOption)) return checkNested;
  const rules = getOption(field, rulesOption);
  const { each } = rules;
  const { name } = field;
  const refuse = (message: string): InvalidField => ({ code: rules.code || "invalid_argument", message });
  const invalid = refuse(`${name} must ${describe(rules, field)}`);
  const invalidEntry = each && refuse(`${name}: each entry must ${describeText(each)}`);
  return (value) => {
    if (value === undefined || (value === "" && rules.required))
      return rules.required ? refuse(`${name} is missing`) : undefined;
    if (!isValid(rules, field, value)) return invalid;
    if (each && !entriesOf(value).every((entry) => isValidText(each, entry as string))) return invalidEntry;
    return checkNested?.(value);
  };
}

/** Returns the check of the messages in a field; undefined if none of their fields have rules. */
function createNestedCheck(field: DescField): Check<unknown> | undefined {
  const { message: schema, fieldKind, name } = field;
  if (schema === undefined || checksOf(schema).length === 0) return undefined;
  if (fieldKind === "message")
    return (value) => {
      const invalid = value === undefined ? undefined : findInvalidField(schema, value as Message);
      // A message with the only field `values` or `value` lets a list, map or number be unset. The sentence names the field that contains it.
      return invalid && { ...invalid, message: invalid.message.replace(/^values?\b/, name) };
    };
  return (value) => {
    for (const [key, entry] of Object.entries(value as Record<string, Message>)) {
      const invalid = findInvalidField(schema, entry);
      if (invalid === undefined) continue;
      return fieldKind === "map" ? { ...invalid, message: `${name} of ${key}: ${invalid.message}` } : invalid;
    }
    return undefined;
  };
}

function entriesOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : Object.values(value as object);
}

function isValid(rules: FieldRules, field: DescField, value: unknown): boolean {
  if (typeof value === "string") return isValidText(rules, value);
  if (field.fieldKind === "enum") return acceptedValues(rules, field).some(({ number }) => number === value);
  if (typeof value === "number" || typeof value === "bigint")
    return (rules.allowEmpty && Number(value) === 0) || isInRange(rules, value);
  if (value instanceof Uint8Array) return isInRange(rules, value.length);
  return field.fieldKind === "message" || isInRange(rules, entriesOf(value).length);
}

function isInRange({ min = -Infinity, max = Infinity }: FieldRules, value: number | bigint): boolean {
  return value >= min && value <= max;
}

function isValidText(rules: FieldRules, text: string): boolean {
  if (text === "" && rules.allowEmpty) return true;
  if (text.includes("\0") || !FORMATS[rules.format].isValid(text)) return false;
  if (rules.in.length > 0 && !rules.in.includes(text)) return false;
  const counted = rules.trimmed ? text.trim() : text;
  if (rules.min !== undefined && counted.length < rules.min) return false;
  return !(rules.notBlank && text.trim() === "") && (rules.max === undefined || !isLongerThan(counted, rules.max));
}

function acceptedValues(rules: FieldRules, field: DescField & { fieldKind: "enum" }): DescEnumValue[] {
  const { values } = field.enum;
  return values.filter(
    ({ number, localName }) => number !== 0 && (rules.in.length === 0 || rules.in.includes(localName)),
  );
}

/** Returns the rest of the sentence "<field> must ...". */
function describe(rules: FieldRules, field: DescField): string {
  if (field.fieldKind === "enum") return `be ${listOf(acceptedValues(rules, field).map(({ localName }) => localName))}`;
  if (field.fieldKind === "list" || field.fieldKind === "map") return `have ${describeSize(rules)} entries`;
  if (field.fieldKind === "message") return "be set";
  if (field.scalar === ScalarType.STRING) return describeText(rules);
  if (field.scalar === ScalarType.BYTES) return `have at most ${formatBytes(rules.max)}`;
  if (rules.max === undefined && rules.min === 0) return "not be negative";
  return `be ${rules.allowEmpty ? "0 or " : ""}${describeRange(rules)}`;
}

function describeText(rules: FieldRules): string {
  if (rules.in.length > 0) return `be ${listOf(rules.allowEmpty ? [...rules.in, "empty"] : rules.in)}`;
  const { sentence } = FORMATS[rules.format];
  if (sentence !== "") return rules.allowEmpty ? `${sentence}, or be empty` : sentence;
  if (rules.max === undefined) return "not contain NUL";
  const isBlankRefused = rules.notBlank || (rules.trimmed && (rules.min ?? 0) > 0);
  return `have ${describeSize(rules)} characters${isBlankRefused ? ", not only white space" : ""}, and no NUL`;
}

function describeSize(rules: FieldRules): string {
  if (rules.min === rules.max) return format(rules.max);
  return rules.min === undefined ? `at most ${format(rules.max)}` : `${format(rules.min)} to ${format(rules.max)}`;
}

function describeRange(rules: FieldRules): string {
  if (rules.max === undefined) return `at least ${format(rules.min)}`;
  return rules.min === undefined ? `at most ${format(rules.max)}` : `from ${format(rules.min)} to ${format(rules.max)}`;
}

function format(number = 0): string {
  return number.toLocaleString("en-US");
}

function formatBytes(bytes = 0): string {
  return bytes % 1024 === 0 ? `${format(bytes / 1024)} KiB` : `${format(bytes)} bytes`;
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
