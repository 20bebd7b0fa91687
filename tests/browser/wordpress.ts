import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { phpCommand, wordpressPath } from "@parley/test-support";

/** Renders a page with the installed WordPress. `plugin` is the PHP source of a plugin. */
export async function renderWithWordPress(plugin: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "parley-wordpress-"));
  try {
    const file = join(directory, "plugin.php");
    await writeFile(file, plugin);
    const script = join(import.meta.dirname, "wordpress.php");
    const { stdout } = await promisify(execFile)(phpCommand() ?? "php", [script, wordpressPath, file]);
    return stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
}
