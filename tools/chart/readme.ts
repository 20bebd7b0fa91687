import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";
import { markdownTable } from "../markdown-table.ts";
import { replaceSection } from "../section.ts";

/** Returns the README with its table of values regenerated from values.yaml. Throws if a value has no description. */
export function withValuesTable(readme: string, valuesYaml: string): string {
  return replaceSection(readme, "values", valuesTable(valuesYaml));
}

function valuesTable(valuesYaml: string): string {
  const { contents } = parseDocument(valuesYaml);
  if (!isMap(contents)) throw new Error("values.yaml is not a map");
  return markdownTable(["value", "default", "description"], rowsOf(contents as YAMLMap, ""));
}

function rowsOf(map: YAMLMap, prefix: string): string[][] {
  return (map.items as Pair[]).flatMap((pair, index) => {
    if (!isScalar(pair.key)) throw new Error(`values.yaml: a key of ${prefix || "the top level"} is not a scalar`);
    const name = `${prefix}${String(pair.key.value)}`;
    // The parser attaches the comment above a map's first key to the map.
    const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? "";
    const description = descriptionOf(comment);
    if (description !== undefined) return [[`\`${name}\``, defaultCell(pair.value), description]];
    if (!isMap(pair.value) || pair.value.items.length === 0)
      throw new Error(`values.yaml has no description of ${name}`);
    return rowsOf(pair.value as YAMLMap, `${name}.`);
  });
}

/** Returns a comment's text after the `-- ` of the last line that starts with `-- `; undefined if there is no such line. */
function descriptionOf(comment: string): string | undefined {
  const lines = comment.split("\n").map((line) => line.trim());
  const start = lines.findLastIndex((line) => line.startsWith("-- "));
  return start === -1 ? undefined : lines.slice(start).join(" ").slice(3);
}

function defaultCell(value: unknown): string {
  const hasToJson = isMap(value) || (typeof value === "object" && value !== null && "toJSON" in value);
  const json = JSON.stringify(hasToJson ? (value as { toJSON(): unknown }).toJSON() : value);
  return `\`${json}\``;
}
