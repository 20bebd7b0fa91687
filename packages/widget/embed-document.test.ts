import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const read = (...path: string[]) => readFileSync(join(import.meta.dirname, ...path), "utf8");
const document = read("../../docs/embed.md");

/** What is named first in the rows of a table under a heading. */
function rowsUnder(heading: string): ReadonlySet<string> {
  const section = document.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return new Set([...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name));
}

describe("docs/embed.md", () => {
  it("names every CSS variable that a bot can set, and no other", () => {
    const styles = readdirSync(join(import.meta.dirname, "src/panel")).filter((file) => file.endsWith(".css"));
    const sources = [...styles.map((file) => read("src/panel", file)), read("src/launcher/host.ts")].join("\n");
    const variables = new Set([...sources.matchAll(/--parley-[a-z-]+/g)].map(([name]) => name));
    expect(rowsUnder("How it looks")).toEqual(variables);
  });

  it("names every attribute that the script element is asked for, and no other", () => {
    const [, names = ""] = /const \{ ([^}]+) \} = script\.dataset/.exec(read("src/launcher/options.ts")) ?? [];
    const attributes = names.split(",").map((name) => {
      const [property = ""] = name.trim().split(" ");
      return `data-${property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    });
    expect(rowsUnder("Attributes")).toEqual(new Set(attributes));
  });

  it("names every event, and no other", () => {
    const [, members = ""] =
      /interface WidgetEvents \{([^}]+(?:\}[^}]+)*?)\n\}/.exec(read("src/shared/types.ts")) ?? [];
    const events = [...members.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name);
    expect(events.length).toBeGreaterThan(0);
    expect(rowsUnder("From your own code")).toEqual(new Set(events));
  });
});
