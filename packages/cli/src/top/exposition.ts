export type Series = { name: string; labels: Readonly<Partial<Record<string, string>>>; value: number };

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };
const INFINITIES: Readonly<Record<string, number>> = { "+Inf": Infinity, "-Inf": -Infinity };

/** Parses a page in Prometheus' text format. Skips lines that are not series. */
export function parseExposition(page: string): Series[] {
  return page.split("\n").flatMap((line) => {
    const [, name, labels = "", number = ""] = (line.startsWith("#") ? null : LINE.exec(line)) ?? [];
    if (name === undefined) return [];
    return [{ name, labels: parseLabels(labels), value: INFINITIES[number] ?? Number(number) }];
  });
}

function parseLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(LABEL), ([, label = "", value = ""]) => [
      label,
      value.replaceAll(/\\[n"\\]/g, (escaped) => ESCAPES[escaped] ?? escaped),
    ]),
  );
}
