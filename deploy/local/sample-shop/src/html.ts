/** HTML that is already escaped. */
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

/** Template tag that escapes every value except Html. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const render = (value: string | Html | readonly Html[] | undefined): string => {
    if (value instanceof Html) {
      return value.text;
    }
    return typeof value === "string"
      ? value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "")
      : (value ?? []).map(render).join("");
  };
  return new Html(parts.map((part, index) => part + render(values[index])).join(""));
}
