/** One Server-Sent Event: its name (`message` when the stream gives none) and its data lines joined by newlines. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Returns a function that takes text as it arrives, cut anywhere, and calls back once an event is complete. Comments,
 * ids and retry hints are passed over; an event without data is none, as the standard says.
 */
export function sseParser(onEvent: (event: ServerEvent) => void): (chunk: string) => void {
  let rest = "";
  let name = "";
  let data: string[] = [];
  const line = (text: string) => {
    if (text === "") {
      if (data.length > 0) {
        onEvent({ name: name || "message", data: data.join("\n") });
      }
      name = "";
      data = [];
      return;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(text) ?? [];
    if (field === "event") {
      name = value;
    } else if (field === "data") {
      data.push(value);
    }
  };
  return (chunk) => {
    // A carriage return at the end may be the first half of a line end: it waits for the next chunk.
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const text of lines) {
      line(text);
    }
  };
}
