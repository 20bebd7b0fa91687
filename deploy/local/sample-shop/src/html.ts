/** HTML that is safe to send. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Builds HTML: every value put in is escaped, but for what was built this way itself. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const show = (value: string | Html | readonly Html[] | undefined): string => {
    if (value instanceof Html) {
      return value.text;
    }
    return typeof value === "string"
      ? value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "")
      : (value ?? []).map(show).join("");
  };
  return new Html(parts.map((part, at) => part + show(values[at])).join(""));
}
