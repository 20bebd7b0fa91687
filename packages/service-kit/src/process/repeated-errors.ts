/** pino's numbers of the levels. */
export const LEVEL_NUMBERS = { warn: 40, error: 50, fatal: 60 };

/** The period of one summary line. */
export const REPEAT_PERIOD_MS = 10_000;
/** Bounds the memory, and the length of a summary line. Further causes or events share the entry OTHERS. */
const MAX_CAUSES = 100;
const MAX_EVENTS = 20;
const OTHERS = "others";
/** Causes may form a cycle. */
const MAX_CAUSE_DEPTH = 10;
/** Fields that name the reason of a warning without an error, in order of precedence. */
const REASON_FIELDS = ["code", "reason", "result", "status"];
/** Fields that distinguish the sources of one event, such as the workers that share the message of runPeriodically. */
const SOURCE_FIELDS = ["task", "method", "measurement", "peer", "closer"];

/** How often a cause was logged in a period, after the first line of each event. */
export type Repeats = {
  cause: string;
  /** The highest of the lines' levels, as pino's number. */
  level: number;
  count: number;
  /** Counts by event and source, such as `{ "task failed, retrying (settler)": 9 }`. */
  events: Record<string, number>;
  /** The latest error, or the fields of the latest line if it had none. */
  latest: unknown;
};

type Cause = {
  /** The messages that were logged since the cause appeared. */
  seen: Set<string>;
  repeats: Repeats | undefined;
};

const withRepeats = new Set<RepeatedErrors>();
// Otherwise a process that stops would lose the counts of its last period.
process.once("exit", () => {
  for (const each of withRepeats) each.flush();
});

/**
 * Limits a log to one line for each cause and period. A cause is an error's code, such as the SQLSTATE 25006 of a read-only database. The first
 * line of each event with this cause passes. Later ones are counted, and `report` gets the counts every 10 s. A period without a line
 * ends the cause, so that its next line passes again.
 */
export class RepeatedErrors {
  readonly #causes = new Map<string, Cause>();
  readonly #report: (repeats: Repeats) => void;

  constructor(report: (repeats: Repeats) => void) {
    this.#report = report;
  }

  /** Returns whether to suppress a line, because it repeats one. Counts it if so. `level` is pino's number. */
  suppress(level: number, fields: unknown, message: string): boolean {
    const cause = level < LEVEL_NUMBERS.fatal ? findCause(level, fields) : undefined;
    if (cause === undefined) return false;
    const key = this.#causes.has(cause) || this.#causes.size < MAX_CAUSES ? cause : OTHERS;
    const entry = this.#causes.get(key) ?? this.#start(key);
    if (!entry.seen.has(message) && entry.seen.size < MAX_EVENTS) {
      entry.seen.add(message);
      return false;
    }
    entry.repeats ??= { cause: key, level, count: 0, events: {}, latest: undefined };
    const { repeats } = entry;
    const event = nameEvent(fields as Fields, message);
    const name = event in repeats.events || Object.keys(repeats.events).length < MAX_EVENTS ? event : OTHERS;
    repeats.events[name] = (repeats.events[name] ?? 0) + 1;
    repeats.count++;
    repeats.level = Math.max(repeats.level, level);
    repeats.latest = (fields as Fields).error ?? fields;
    withRepeats.add(this);
    return true;
  }

  /** Reports the counts so far. */
  flush(): void {
    withRepeats.delete(this);
    for (const entry of this.#causes.values()) this.#reportEntry(entry);
  }

  #start(cause: string): Cause {
    const entry: Cause = { seen: new Set(), repeats: undefined };
    this.#causes.set(cause, entry);
    const timer = setInterval(() => {
      if (this.#reportEntry(entry)) return;
      clearInterval(timer);
      this.#causes.delete(cause);
    }, REPEAT_PERIOD_MS);
    timer.unref();
    return entry;
  }

  #reportEntry(entry: Cause): boolean {
    const { repeats } = entry;
    if (repeats === undefined) return false;
    entry.repeats = undefined;
    this.#report(repeats);
    return true;
  }
}

type Fields = Record<string, unknown>;

/** Returns the code of a line's error or, for a warning without an error, the reason that it names; undefined if it has neither. */
function findCause(level: number, fields: unknown): string | undefined {
  if (fields instanceof Error) return nameError(fields);
  if (typeof fields !== "object" || fields === null) return undefined;
  const { error, err = error } = fields as Fields;
  if (err !== undefined) return nameError(err);
  if (level < LEVEL_NUMBERS.warn) return undefined;
  const name = REASON_FIELDS.find((each) => typeof (fields as Fields)[each] === "string");
  return name === undefined ? undefined : String((fields as Fields)[name]);
}

/**
 * Returns the code of the innermost of an error and its causes that has one, or else the innermost error's name. Prefers a text to a number, so
 * that an error of a call between services has one name, whether or not it was received over gRPC.
 */
function nameError(error: unknown): string {
  let name: string = typeof error;
  let text: string | undefined;
  let number: string | undefined;
  let inner = error;
  for (let depth = 0; inner instanceof Error && depth < MAX_CAUSE_DEPTH; depth++) {
    const { code } = inner as { code?: unknown };
    if (typeof code === "string") text = code;
    if (typeof code === "number") number = String(code);
    name = inner.name;
    inner = inner.cause;
  }
  return text ?? number ?? name;
}

function nameEvent(fields: Fields, message: string): string {
  const source = SOURCE_FIELDS.map((name) => fields[name]).find((value) => typeof value === "string");
  return source === undefined ? message : `${message} (${source})`;
}
