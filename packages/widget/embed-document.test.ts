import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const read = (...path: string[]) => readFileSync(join(import.meta.dirname, ...path), "utf8");
const embedGuide = read("../../docs/embed.md");

/** Returns the names that match `pattern`, from the first column of the guide's tables. */
const documented = (pattern: RegExp) =>
  new Set(
    [...embedGuide.matchAll(/^\| `([^`]+)`/gm)].map(([, cell = ""]) => cell).filter((cell) => pattern.test(cell)),
  );

describe("docs/embed.md", () => {
  it("lists exactly the CSS variables that the widget uses", () => {
    const styles = readdirSync(join(import.meta.dirname, "src/panel")).filter((file) => file.endsWith(".css"));
    const launcher = [read("src/launcher/launcher.css"), read("src/launcher/launcher.ts")];
    const sources = [...styles.map((file) => read("src/panel", file)), ...launcher].join("\n");
    const variables = new Set([...sources.matchAll(/--parley-[a-z-]+/g)].map(([name]) => name));
    expect(documented(/^--/)).toEqual(variables);
  });

  it("lists exactly the attributes that the widget reads from the script element", () => {
    const [, names = ""] = /const \{([^}]+)\} = script\.dataset/.exec(read("src/launcher/options.ts")) ?? [];
    const attributes = names
      .split(",")
      .filter((name) => name.trim())
      .map((name) => {
        const [property = ""] = name.trim().split(" ");
        return `data-${property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      });
    expect(documented(/^data-/)).toEqual(new Set(attributes));
  });

  it("lists exactly the events that the widget emits", () => {
    const [, members = ""] =
      /interface WidgetEvents \{([^}]+(?:\}[^}]+)*?)\n\}/.exec(read("src/shared/types.ts")) ?? [];
    const events = [...members.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name);
    expect(events.length).toBeGreaterThan(0);
    expect(documented(/^\w+$/)).toEqual(new Set(events));
  });
});
