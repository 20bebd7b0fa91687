import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";
import { replaceSection } from "../section.ts";

/** Returns the README with its table of values generated anew from values.yaml. Throws when a value has no description. */
export function withValuesTable(readme: string, valuesYaml: string): string {
  return replaceSection(readme, "values", valuesTable(valuesYaml));
}

function valuesTable(valuesYaml: string): string {
  const { contents } = parseDocument(valuesYaml);
  if (!isMap(contents)) throw new Error("values.yaml is no map");
  const rows = rowsOf(contents as YAMLMap, "");
  return ["| value | default | what it is |", "| --- | --- | --- |", ...rows].join("\n");
}

function rowsOf(map: YAMLMap, prefix: string): string[] {
  return (map.items as Pair[]).flatMap((pair, index) => {
    if (!isScalar(pair.key)) throw new Error(`${prefix}: a key that is no word`);
    const name = `${prefix}${String(pair.key.value)}`;
    // The comment over a map's first key belongs to the map itself.
    const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? "";
    const description = describe(comment);
    if (description !== undefined) return [`| \`${name}\` | ${shown(pair.value)} | ${description} |`];
    if (!isMap(pair.value) || pair.value.items.length === 0) throw new Error(`values.yaml says nothing of ${name}`);
    return rowsOf(pair.value as YAMLMap, `${name}.`);
  });
}

function describe(comment: string): string | undefined {
  const lines = comment.split("\n").map((line) => line.trim());
  const start = lines.findLastIndex((line) => line.startsWith("-- "));
  return start === -1 ? undefined : lines.slice(start).join(" ").slice(3).replaceAll("|", "\\|");
}

function shown(value: unknown): string {
  const plain = isMap(value) || (typeof value === "object" && value !== null && "toJSON" in value);
  const json = JSON.stringify(plain ? (value as { toJSON(): unknown }).toJSON() : value);
  return `\`${json.replaceAll("|", "\\|")}\``;
}
