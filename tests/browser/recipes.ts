import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../system/processes.ts";

const DOCUMENT = join(root, "docs/embed.md");

/** The installation and the key that the recipes name. */
const PLACEHOLDERS = { origin: "https://chat.shop.example", key: "svc_pk_…" };

/** The code blocks under a heading of docs/embed.md, as they stand there, for this installation and key instead. */
export async function recipe(heading: string, service: { url: string; publicKey: string }): Promise<string[]> {
  const document = await readFile(DOCUMENT, "utf8");
  const [, section = ""] = document.split(new RegExp(`^#{2,3} ${heading}$`, "m"));
  const [own = ""] = section.split(/^#{2,3} /m);
  return [...own.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, code = ""]) =>
    code.replaceAll(PLACEHOLDERS.origin, service.url).replaceAll(PLACEHOLDERS.key, service.publicKey),
  );
}
