import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../system/processes.ts";

const GUIDE_PATH = join(root, "docs/embed.md");

/** The example origin and key in the recipes. */
const PLACEHOLDERS = { origin: "https://chat.shop.example", key: "svc_pk_…" };

/** Returns the code blocks under a heading of docs/embed.md, with PLACEHOLDERS replaced by the service's URL and key. */
export async function readRecipe(heading: string, service: { url: string; publicKey: string }): Promise<string[]> {
  const guide = await readFile(GUIDE_PATH, "utf8");
  const [, section = ""] = guide.split(new RegExp(`^#{2,3} ${heading}$`, "m"));
  const [body = ""] = section.split(/^#{2,3} /m);
  return [...body.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, code = ""]) =>
    code.replaceAll(PLACEHOLDERS.origin, service.url).replaceAll(PLACEHOLDERS.key, service.publicKey),
  );
}
