import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, type ConsoleBuild, MAX_FIRST_LOAD_BYTES } from "./build.ts";

let directory: string;
let built: ConsoleBuild;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-console-"));
  built = await buildConsole(directory);
}, 60_000);
afterAll(() => rm(directory, { recursive: true }));

/** Returns the beginning of a proto's descriptor in the generated code. */
function descriptorStart(path: string): string {
  return Buffer.from(`\n${String.fromCharCode(path.length)}${path}`)
    .toString("base64")
    .slice(0, -4);
}

describe("the built page", () => {
  it("needs at most 200 KB gzip for its first screen", () => {
    expect(built.firstLoadBytes).toBeGreaterThan(50_000);
    expect(built.firstLoadBytes).toBeLessThanOrEqual(MAX_FIRST_LOAD_BYTES);
  });

  it("contains compressed variants of each script and style sheet", async () => {
    const files = await readdir(join(directory, "assets"));
    const scriptsAndStyles = files.filter((name) => /\.(?:js|css)$/.test(name));
    expect(scriptsAndStyles.length).toBeGreaterThan(5);
    for (const name of scriptsAndStyles) expect(files).toEqual(expect.arrayContaining([`${name}.gz`, `${name}.br`]));
  });

  it("preloads the app, which main.ts imports after the language's catalogue", async () => {
    const html = await readFile(join(directory, "index.html"), "utf8");
    expect(html).toMatch(/<link rel="modulepreload"[^>]* href="\/assets\/app-/);
    expect(await readFile(join(directory, "preview.html"), "utf8")).not.toContain("/assets/app-");
  });

  it("loads neither dialogs nor the messages of the services' data planes for its first screen", async () => {
    const html = await readFile(join(directory, "index.html"), "utf8");
    const preloaded = [...html.matchAll(/href="\/(assets\/[^"]+\.js)"/g)].map(([, file = ""]) => file);
    const code = (await Promise.all(preloaded.map((file) => readFile(join(directory, file), "utf8")))).join("");
    expect(code).toContain(descriptorStart("parley/quota/v1/admin.proto"));
    for (const text of [
      "DialogContent",
      descriptorStart("parley/quota/v1/quota.proto"),
      descriptorStart("parley/llm/v1/llm.proto"),
    ])
      expect(code).not.toContain(text);
  });

  it.each(["index.html", "preview.html"])("each script and style sheet of %s has a nonce placeholder", async (name) => {
    const html = await readFile(join(directory, name), "utf8");
    const elements = html.match(/<(?:script|link rel="(?:stylesheet|modulepreload)")[^>]*>/g) ?? [];
    expect(elements.length).toBeGreaterThan(1);
    for (const element of elements) expect(element).toContain('nonce="{{nonce}}"');
  });
});
